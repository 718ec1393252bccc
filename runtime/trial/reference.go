package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/reference"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// FlagNoManifest marks a trial whose number of tests is not fixed: neither its task nor a
// reference run says which tests there are. Its pass rate is in no mean.
const FlagNoManifest = "no_manifest"

// FlagExpected marks a trial in whose best round failures count as passes because the judge's
// files expect them, and no reference run shows that they may.
const FlagExpected = "expected_failure"

// Subject is a trial whose images are made, for what is asked about its task.
type Subject struct {
	State State
	Task  task.Task   // with images by id
	Work  image.Built // its work image
}

// measure finds out before any agent begins what a trial is held against, and whether there is
// a judge to hold it. What cannot be found out ends the trial, or is an error while it may be.
func (m *Machine) measure(ctx context.Context, s State, t task.Task, work image.Built) (State, error) {
	of := Subject{s, t, work}
	why, err := m.broken(ctx, of, false)
	if err == nil && why == "" {
		var unusable bool
		if s, unusable, err = m.reference(ctx, of); err == nil && unusable {
			why, err = m.broken(ctx, of, true)
		}
	}
	switch {
	case err != nil:
		next, _, err := m.unlooked(ctx, of.State, err)
		return next, err
	case why != "":
		return m.judgeFailed(s, why), nil
	}
	return s, nil
}

// reference makes the manifest of a trial whose task declares none, so that it does not depend
// on what else runs. An oracle is held against none: where it disagrees with the reference
// run, that has to show.
func (m *Machine) reference(ctx context.Context, of Subject) (s State, unusable bool, err error) {
	s = of.State
	t := s.Cell.Task
	if m.host.Reference == nil || !reference.Wants(t) {
		return s, false, nil
	}
	if s.Cell.Agent.Solves() {
		return s, false, nil
	}
	known, err := m.host.Reference(ctx, of)
	if err != nil {
		return s, false, err
	}
	s.Reference, s.Outcomes, s.Expected = known.Tests, known.Passed, known.Expected
	s.NoManifest = len(known.Tests) == 0 && !scoring.FixesTotal(t)
	return s, known.Unusable, nil
}

// outcomes finds out which tests of a declared list fail as expected, where the judge's files
// may have some do so: a list does not say it.
func (m *Machine) outcomes(ctx context.Context, s State) (State, error) {
	if m.host.Reference == nil || s.Outcomes || s.Cell.Agent.Solves() || reference.Wants(s.Cell.Task) {
		return s, nil
	}
	if may, err := m.host.Judge.Expects(ctx, s.ID); err != nil || !may {
		return s, err
	}
	of, err := m.subject(ctx, s)
	if err != nil {
		return s, err
	}
	known, err := m.host.Reference(ctx, of)
	if err == nil {
		s.Outcomes, s.Expected = known.Passed, known.Expected
	}
	return s, err
}

// broken says why the judge of a trial can judge nothing; "" = it can, or nobody knows.
func (m *Machine) broken(ctx context.Context, of Subject, ask bool) (why string, err error) {
	if m.host.Broken == nil || tryrounds.Unjudgeable(of.State.Cell.Task) || plays(of.State) {
		return "", nil
	}
	return m.host.Broken(ctx, of, ask)
}

// ReferenceKey identifies what a trial is judged by: the same tests are seen where it is the
// same.
func ReferenceKey(s State) string {
	t := s.Cell.Task
	j := t.Judge
	b, err := json.Marshal([]any{
		t.Benchmark, t.Name, t.Workdir, s.JudgeImage.ID, s.RunImage, s.GradeImage,
		j.Command, j.Parser, j.Env, j.User, j.Run, j.Grade, j.Window, j.Expect, t.FailToPass, t.PassToPass,
	})
	if err != nil {
		panic(fmt.Sprintf("encode judge: %v", err)) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// subject finds again what the images phase has made.
func (m *Machine) subject(ctx context.Context, s State) (Subject, error) {
	t, err := m.pinned(ctx, s)
	if err != nil {
		return Subject{}, err
	}
	work, err := m.host.Images.Work(ctx, t, labels(m.host.Owner, s, container.RoleBuild))
	return Subject{s, t, work}, err
}

// dubious reports whether no round of a try tells anything about any test, by no trick of the
// agent: the judge itself may be at fault. The last round is read whole.
func (m *Machine) dubious(ctx context.Context, s State) (bool, error) {
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return false, err
	}
	last, silent := reference.Silent(tryrounds.OfTry(subs, s.Try))
	if !silent {
		return false, nil
	}
	whole, err := m.host.Ledger.Submission(ctx, last.ID)
	return err == nil && whole.Report != nil && scoring.Silent(*whole.Report) != "", err
}

// brokenJudge asks whether the judge is at fault where nothing of a trial could be judged, and
// ends the trial if it is.
func (m *Machine) brokenJudge(ctx context.Context, s State) (next State, broken bool, err error) {
	if m.host.Broken == nil {
		return s, false, nil
	}
	if is, err := m.dubious(ctx, s); err != nil || !is {
		return s, false, err
	}
	of, err := m.subject(ctx, s)
	if err != nil {
		return s, false, err
	}
	why, err := m.broken(ctx, of, true)
	if err != nil || why == "" {
		return s, false, err
	}
	return m.judgeFailed(s, why), true, nil
}

// judgeFailed ends a trial whose judge fails on whatever it is given.
func (m *Machine) judgeFailed(s State, why string) State {
	t := s.Cell.Task
	where := []string{"judge.command", "judge.stage", "judge"}
	if parser.Doubted(why) {
		where = slices.Insert(where, 0, "judge.parser")
	}
	err := m.host.at(errors.New(why), "benchmark", t.Benchmark, t.Name, where...)
	return fail(s, SetupError, ReasonJudge, err)
}
