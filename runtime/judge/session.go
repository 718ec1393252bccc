package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// newSession turns a trial's terms into those of each container that its judgings need.
// The session itself is that of the container in which submitted code runs.
func newSession(o Session, parsers func(string) (parser.Parser, bool)) *session {
	s := &session{Session: o}
	s.parser, s.known = parsers(parserName(o.Task.Judge.Parser))
	if ByCommands(o.Task) {
		s.parser, s.known = commandsParser(o.Task), true
	}
	s.folders, s.free = testFolders(o.Task)
	if names, source := Manifest(o.Task, o.Reference); source == FromReference {
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
		c.key = c.profileKey()
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
	c.Task, c.Outcomes = withoutManifest(c.Task), false
	c.Task.Judge.Window = nil
	return c
}

// judgedIn are the terms of the container whose command has the last word on a submission.
func (s *session) judgedIn(kind Kind) *session {
	switch {
	case kind == KindPrivate:
		return s.private
	case s.grader != nil:
		return s.grader
	}
	return s
}

// isolation says what kept submitted code and answers apart.
func isolation(t task.Task) string {
	if t.Judge.Staged() {
		return "staged"
	}
	return "shared"
}
