package trial

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAutoEvalFreezesForTheMomentOfTheCopy(t *testing.T) {
	b := newBench(t)
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
	b := newBench(t)
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
