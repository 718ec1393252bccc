package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

func TestAutoEvalFreezesForTheMomentOfTheCopy(t *testing.T) {
	b := newFixture(t)
	b.play(func(ctx context.Context, g *scripted) int {
		g.WriteFile("/work/src/answer", []byte("t1 failed"))
		return idle(ctx, g)
	})
	hourly := func(c *Cell) { c.AutoEval = 20 * time.Minute }
	m := b.machine(b.fresh(hourly))
	s, _ := b.until(m, b.fresh(hourly), Running)
	if d := s.NextAuto.Sub(s.StartedAt); d != 20*time.Minute {
		t.Errorf("the first snapshot is due after %s", d)
	}
	var frozen []bool
	b.fake.Intercept(func(call, target string) error {
		if call == "CopyFrom" && target == s.Container {
			c, err := b.fake.Inspect(t.Context(), s.Container)
			frozen = append(frozen, c.Frozen)
			return err
		}
		return nil
	})
	for n := range 2 { // the second time the tree is the same
		s.NextAuto = time.Now()
		for s.AutoCount == n {
			next, effects, err := m.Step(t.Context(), s)
			if err != nil || len(effects) > 0 {
				t.Fatalf("%v, reported: %+v", err, effects)
			}
			s = next
		}
	}
	b.fake.Intercept(nil)
	c, err := b.fake.Inspect(t.Context(), s.Container)
	if !slices.Equal(frozen, []bool{true, true}) || err != nil || c.Frozen {
		t.Errorf("frozen while copied: %v, afterwards: %v, %v", frozen, c.Frozen, err)
	}
	rounds, err := b.ledger.Submissions(t.Context(), s.ID)
	if err != nil || len(rounds) != 1 || rounds[0].Round != "auto-1" {
		t.Errorf("rounds %+v, %v", rounds, err)
	}
}

func TestNoSnapshotIsDueAtTheDeadline(t *testing.T) {
	s := State{Deadline: time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC), Cell: Cell{AutoEval: 20 * time.Minute}}
	begun := s.Deadline.Add(-time.Hour)
	for _, tt := range []struct {
		after, want time.Duration // 0 = none
	}{{0, 20 * time.Minute}, {39 * time.Minute, 59 * time.Minute}, {40 * time.Minute, 0}, {55 * time.Minute, 0}} {
		var want time.Time
		if tt.want > 0 {
			want = begun.Add(tt.want)
		}
		if got := nextAuto(s, begun.Add(tt.after)); !got.Equal(want) {
			t.Errorf("after %s the next is due at %s, want %s", tt.after, got, want)
		}
	}
	if s.Cell.AutoEval = 0; !nextAuto(s, begun).IsZero() {
		t.Error("a snapshot is due although they are off")
	}
}

func TestATreeThatCannotBeSubmittedLeavesWhatWas(t *testing.T) {
	b := newFixture(t)
	b.play(work(strings.Repeat("x", 1<<20+1)))
	m := b.machine(b.fresh())
	s, told := b.until(m, b.fresh(), Done)
	if got := types(told); got != "trial.started trial.event:final_refused trial.finished" {
		t.Errorf("reported: %s", got)
	}
	if r := s.Result; r.Status != Unresolved || !slices.Contains(r.Flags, "final_refused") {
		t.Errorf("%+v", r)
	}
}

// TestALastTreeThatIsRefused: an agent that fails could leave the statistics by what it makes of
// its tree.
func TestALastTreeThatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		phase Phase
		flags []string
	}{
		{"by the judge", &round.Refusal{Code: 413, Detail: "too big"}, Grading, []string{"final_refused"}},
		{"for a patch that would be too long", patch.ErrTooLong, Grading, []string{"final_refused"}},
		{"for a patch that does not apply", &patch.NotApplied{Words: "corrupt"}, Grading, []string{"final_refused"}},
		{"for what is not known", errEngine, Verdict, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(work(solved))
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), Closing)
			m.retrying = retryWindow{phase: Closing, times: maxAgain}
			s, _, err := m.notTaken(t.Context(), s, fmt.Errorf("take it: %w", tt.err))
			if diff := cmp.Diff(tt.flags, s.Flags); err != nil || s.Phase != tt.phase || diff != "" {
				t.Errorf("phase %s, %v (%s)\n%s", s.Phase, err, s.Detail, diff)
			}
		})
	}
}

func TestATreeThatIsNotTakenInTime(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Closing)
	m.host.Engine = struct {
		container.Engine
		container.Copier
	}{b.fake, b.fake}
	m.moment = time.Millisecond
	err := m.still(t.Context(), s, func(ctx context.Context, _ io.Reader) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if _, ok := errors.AsType[*notCopied](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestAPatchThatDoesNotApplyIsTheAgents(t *testing.T) {
	b := newFixture(t)
	b.before(sound)
	b.play(work(solved))
	m := b.machine(b.fresh(once))
	s, _ := b.until(m, b.fresh(once), Closing)
	if err := os.WriteFile(trydir.Of(b.host.StateDir, s.ID, s.Try).Patch(), []byte("diff --git a/src/x b/src/x\n@@ nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, told := b.until(m, s, Done)
	if r := s.Result; r.Status != Unresolved || !r.Final || !strings.Contains(types(told), "final_refused") {
		t.Errorf("%+v, reported: %s", r, types(told))
	}
}
