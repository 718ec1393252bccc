package trial

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

func once(c *Cell) { c.Mode, c.SanityCheck = Single, true }

// before answers for an untouched tree, and with what the agent wrote for any other.
func (b *fixture) before(answer string) (asked *atomic.Int32) {
	asked = new(atomic.Int32)
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		given, there := c.ReadFile("/work/src/answer")
		if !there {
			asked.Add(1)
			given = []byte(answer)
		}
		_, _ = cmd.Stdout.Write(given)
		return 0
	})
	return asked
}

// sound is how the tests of a sound task come out before any change.
const sound = "t1 failed\nt2 passed\n"

func TestWhatSingleModeComesTo(t *testing.T) {
	ends := func(answer string, e protocol.Event) func(context.Context, *scripted) int {
		return func(ctx context.Context, g *scripted) int {
			g.hello(ctx)
			g.WriteFile("/work/src/answer", []byte(answer))
			e.Seq, e.Type = 1, protocol.EventEnded
			g.event(ctx, e)
			<-ctx.Done()
			return 137
		}
	}
	for _, tt := range []struct {
		name, before string
		agent        func(context.Context, *scripted) int
		status       Status
		detail       string
	}{
		{"all declared tests pass", sound, work(solved), Resolved, ""},
		{"one does not", sound, work("t1 passed\nt2 failed\n"), Unresolved, ""},
		{"a test that is to be mended passes already", "t1 passed\nt2 passed\n", work(solved), SanityFail, "t1 of fail_to_pass passes before any change"},
		{"a test that must not break is broken", "t1 failed\nt2 failed\n", work(solved), SanityFail, "t2 of pass_to_pass fails"},
		{"the agent crashes, whatever it left", sound, ends(solved, protocol.Event{Reason: protocol.EndedError, Detail: "exit code 3"}), AgentError, "exit code 3"},
		{"the agent is out of time, whatever it left", sound, ends(solved, protocol.Event{Reason: protocol.EndedDeadline}), AgentError, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(tt.agent)
			b.before(tt.before)
			s, _ := b.until(b.machine(b.fresh(once)), b.fresh(once), Done)
			if r := s.Result; r.Status != tt.status || !strings.Contains(r.Detail, tt.detail) || !r.Final {
				t.Errorf("verdict %s (%s): %q; want %s: %q", r.Status, r.Reason, r.Detail, tt.status, tt.detail)
			}
			if ran := s.Container != ""; ran == (tt.status == SanityFail) {
				t.Errorf("an agent was started: %v", ran)
			}
		})
	}
}

func TestAnUnsoundTaskIsToldFromAJudgeThatCannotRun(t *testing.T) {
	b := newFixture(t)
	b.fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int { return 127 })
	s, _ := b.until(b.machine(b.fresh(once)), b.fresh(once), Done)
	if r := s.Result; r.Status != TestError || r.Reason != ReasonJudge {
		t.Errorf("verdict %s (%s): %q", r.Status, r.Reason, r.Detail)
	}
}

// TestAJudgeThatCannotBe ends a trial before its agent begins, and not never.
func TestAJudgeThatCannotBe(t *testing.T) {
	stranger := func(c *Cell) { c.Task.Judge.User = "stranger" }
	for _, tt := range []struct {
		name   string
		change []func(*Cell)
		err    error // of the engine, at each judge container
		status Status
		reason string
		detail string
	}{
		{"a user whom the image does not have", []func(*Cell){stranger}, nil, SetupError, ReasonSetup, "benchmark edge one judge.user: "},
		{"the same in single mode", []func(*Cell){once, stranger}, nil, SetupError, ReasonSetup, "benchmark edge one judge.user: "},
		{"an engine that cannot", nil, errEngine, InfraError, ReasonJudge, errEngine.Error()},
		{"the same in single mode", []func(*Cell){once}, errEngine, InfraError, ReasonJudge, errEngine.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.host.Where = func(kind, name, task string, attributes ...string) string {
				return strings.Join([]string{kind, name, task, attributes[0]}, " ")
			}
			b.fake.Intercept(func(call, target string) error {
				if call == "Start" && strings.Contains(target, "profile") {
					return tt.err
				}
				return nil
			})
			m := b.machine(b.fresh(tt.change...))
			s, _, _ := b.insist(m, b.fresh(tt.change...), Done)
			if r := s.Result; r.Status != tt.status || r.Reason != tt.reason || !strings.Contains(r.Detail, tt.detail) || s.Container != "" {
				t.Errorf("verdict %s (%s): %q, container %q", r.Status, r.Reason, r.Detail, s.Container)
			}
		})
	}
}

func TestThePatchIsKeptAndIsWhatIsJudged(t *testing.T) {
	b := newFixture(t)
	b.fake.AddImage("work:1", container.ImageConfig{}, map[string]string{"/work/src/old": "old\n"})
	b.before(sound)
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		g.WriteFile("/work/src/answer", []byte(solved))
		g.WriteFile("/work/other", []byte("below no submit path\n"))
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	})
	s, told := b.until(b.machine(b.fresh(once)), b.fresh(once), Done)
	diff, err := os.ReadFile(trydir.Of(b.host.StateDir, s.ID, 1).Patch())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(diff); !strings.Contains(text, "+++ b/src/answer\n") || strings.Contains(text, "other") || strings.Contains(text, "old") {
		t.Errorf("the patch is\n%s", text)
	}
	f := told[len(told)-1].Fields.(Finished)
	if f.Patch == nil || f.Patch.File != "trials/"+s.ID+"/try-1/model.patch" || len(f.Patch.SHA256) != 64 {
		t.Errorf("the record names the patch as %+v", f.Patch)
	}
}

func TestInSingleModeAnAgentSubmitsNothing(t *testing.T) {
	b := newFixture(t)
	b.before(sound)
	b.play(idle)
	s, _ := b.until(b.machine(b.fresh(once)), b.fresh(once), Running)
	_, err := b.host.Judge.Submit(t.Context(), s.ID, round.SubmitRequest{Kind: round.KindAgent, Archive: strings.NewReader("")})
	if refusal, ok := errors.AsType[*round.Refusal](err); !ok || refusal.Code != 403 || !strings.Contains(refusal.Detail, "nothing to submit") {
		t.Errorf("an agent's submission: %v", err)
	}
}
