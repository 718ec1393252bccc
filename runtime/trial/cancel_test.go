package trial

import (
	"testing"

	"github.com/assayd/assayd/runtime/container"
)

func TestCancel(t *testing.T) {
	for _, phase := range []Phase{Pending, Images, Create, Await, Running, Closing, Grading} {
		t.Run(string(phase), func(t *testing.T) {
			b := newFixture(t)
			b.play(work(solved))
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), phase)
			m.Cancel(Cancellation{Cause: "not any more", Unwanted: true})
			m.Cancel(Cancellation{Cause: "twice"})
			s, told := b.until(m, s, Done)
			if r := s.Result; r.Status != Cancelled || r.Reason != ReasonCancelled || r.Detail != "not any more" || !s.Unwanted || !r.Final {
				t.Errorf("%+v", r)
			}
			if types(told) != "trial.finished" || b.fake.Container(s.Workload.Name) != nil {
				t.Errorf("reported: %s; the container is gone: %v", types(told), b.fake.Container(s.Workload.Name) == nil)
			}
		})
	}
}

// TestCancelEndsAWait: a step that waits for the engine gives up.
func TestCancelEndsAWait(t *testing.T) {
	b := newFixture(t)
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Create)
	s, _, err := m.Step(t.Context(), s) // makes the token
	if err != nil {
		t.Fatal(err)
	}
	b.fake.Intercept(func(call, _ string) error {
		if call == "Start" {
			m.Cancel(Cancellation{Cause: "enough"})
			return container.ErrUnavailable
		}
		return nil
	})
	if s, _, err = m.Step(t.Context(), s); err != nil || s.Failure != Cancelled {
		t.Errorf("%v, failure %q", err, s.Failure)
	}
}

func TestACancelComesTooLateForAVerdict(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Verdict)
	m.Cancel(Cancellation{Cause: "late"})
	if s, _ = b.until(m, s, Done); s.Result.Status != Resolved {
		t.Errorf("%+v", s.Result)
	}
}
