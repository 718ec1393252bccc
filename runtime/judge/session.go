package judge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// newSession turns a trial's terms into those of each container that its judgings need.
// The session itself is that of the container in which submitted code runs.
func newSession(o round.Session, parsers func(string) (parser.Parser, bool)) *session {
	s := &session{Session: o}
	s.parser, s.known = parsers(scoring.ParserName(o.Task.Judge.Parser))
	if scoring.ByCommands(o.Task) {
		s.parser, s.known = commandsParser(o.Task), true
	}
	s.folders, s.free = testFolders(o.Task)
	if names, source := scoring.Manifest(o.Task, o.Reference); source == scoring.FromReference {
		s.Task.Judge.Expect = names
	}
	if g := o.Task.Judge.Grade; o.Task.Judge.Staged() {
		s.grader = s.gradedBy(g.Context, g.Command, g.Timeout)
	}
	if p := o.Task.Private; p != nil {
		s.private = s.privately(*p)
	}
	if run := o.Task.Judge.Run; run != nil { // at last, for the others are made of the session as it was
		s.Task.Judge.Command, s.Task.Judge.Timeout, s.context = run.Command, run.Timeout, run.Context
		s.Task.Judge.Window = nil
		s.JudgeImage = cmp.Or(o.RunImage, o.JudgeImage)
	}
	for _, c := range s.containers() {
		c.terms = c.made()
		c.key = c.terms.Key()
	}
	return s
}

// containers are the session and the terms of its other containers.
func (s *session) containers() []*session {
	return slices.DeleteFunc([]*session{s, s.grader, s.private}, func(c *session) bool { return c == nil })
}

// alike is a copy of the terms, for a container that differs in some of them.
func (s *session) alike() *session {
	return &session{Session: s.Session, parser: s.parser, known: s.known, folders: s.folders, free: s.free}
}

// gradedBy are the terms of a container in which outputs are compared. All that may come
// into it is what the run stage was to make.
func (s *session) gradedBy(context task.Tree, command task.Command, timeout time.Duration) *session {
	g := s.alike()
	g.grades = true
	judge := &g.Task.Judge
	g.context, judge.Command, judge.Timeout, judge.Window = context, command, timeout, nil
	g.JudgeImage = cmp.Or(s.GradeImage, s.JudgeImage)
	g.Task.Submit = task.Submit{Paths: judge.Run.Outputs, MaxBytes: s.Task.Submit.MaxBytes, MaxFiles: s.Task.Submit.MaxFiles}
	return g
}

// privately are the terms of the container in which the private set is run. With stages it
// takes the place of the grade stage.
func (s *session) privately(p task.Private) *session {
	var c *session
	if s.grader != nil {
		c = s.gradedBy(p.Context, p.Command, p.Timeout)
	} else {
		c = s.alike()
		c.Task.Judge.Command, c.Task.Judge.Timeout, c.overlay = p.Command, p.Timeout, p.Context
	}
	c.Task, c.Outcomes = scoring.WithoutManifest(c.Task), false
	c.Task.Judge.Window = nil
	return c
}

// judgedIn are the terms of the container whose command has the last word on a submission.
func (s *session) judgedIn(kind round.Kind) *session {
	switch {
	case kind == round.KindPrivate:
		return s.private
	case s.grader != nil:
		return s.grader
	}
	return s
}

// made are the terms of the session's container.
func (s *session) made() sandbox.Terms {
	return sandbox.Terms{
		Trial: s.Trial, Image: s.JudgeImage, Labels: s.Labels, Task: s.Task, Context: s.context, Overlay: s.overlay,
		Protect: s.protect(), HiddenPaths: s.HiddenPaths,
	}
}

// profile returns the profile of the session's judge image, looking at the image when that was
// not done yet.
func (j *Judge) profile(ctx context.Context, s *session) (*sandbox.Profile, error) {
	return j.profiles.Of(ctx, s.key, s.terms)
}

// warmable lists the containers that the sessions could use at once.
func (j *Judge) warmable() (all []container.Workload) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.sessions {
		if s.isOver() {
			continue
		}
		for _, c := range []*session{s, s.grader} { // the private set is run but once, at the end
			if c != nil && c.warmable() {
				all = append(all, j.host.Workload(c.terms, "", "", ""))
			}
		}
	}
	return all
}

// warmable reports whether a container may be started ahead for the session. An exclusive
// judge runs on CPUs that are not known yet, a game's container lives for a session, and one
// that stays has to bear the labels of its trial.
func (s *session) warmable() bool {
	j := s.Task.Judge
	return s.known && !s.Keep && !j.Exclusive && j.Game == ""
}
