package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on the names of a reference run; one that shows more is none.
const (
	maxReference      = 20_000
	maxReferenceBytes = 1 << 20
)

// reference returns the names of tests that a trial is to be held against. An oracle's is
// held against none: it is what makes references, and where two of them disagree that has
// to show.
func (m *Machine) reference(ctx context.Context, s State) ([]string, error) {
	if m.host.Reference == nil || s.Cell.Agent.Solves() || !wantsReference(s.Cell.Task) {
		return nil, nil
	}
	return m.host.Reference(ctx, ReferenceKey(s))
}

// wantsReference reports whether a reference run could be the manifest of the task.
func wantsReference(t task.Task) bool {
	_, source := judge.Manifest(t, nil)
	return source == judge.NoManifest && judge.NamesTests(t.Judge.Parser) && t.Judge.Game == ""
}

// ReferenceKey identifies what a trial is judged by: the same tests are seen where it is
// the same.
func ReferenceKey(s State) string {
	t := s.Cell.Task
	j := t.Judge
	b, err := json.Marshal([]any{
		t.Benchmark, t.Name, t.Workdir, s.JudgeImage.ID, s.RunImage, s.GradeImage,
		j.Command, j.Parser, j.Env, j.User, j.Run, j.Grade,
	})
	if err != nil {
		panic(fmt.Sprintf("encode judge: %v", err)) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ReferenceRun returns the names of the tests that a finished trial's best round showed, if
// the trial is a reference run: an oracle's that ended with every test passed.
func ReferenceRun(s State, best judge.Submission) (names []string, ok bool) {
	r := best.Report
	if !s.Cell.Agent.Solves() || !wantsReference(s.Cell.Task) || s.Result == nil || s.Result.Status != Resolved || r == nil {
		return nil, false
	}
	size := 0
	for _, t := range r.Tests {
		if t.Status == parser.Skipped {
			continue
		}
		names = append(names, t.Name)
		size += len(t.Name)
	}
	// A report that does not hold them all says nothing about the rest.
	whole := len(names) == r.TotalTests && len(names) > 0 && len(names) <= maxReference && size <= maxReferenceBytes
	return names, whole && r.Status == judge.StatusOK && r.PassRate == 1
}
