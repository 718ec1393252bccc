package trial

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// ask has the agent ask its model once, as it does in its container.
func (g *scripted) ask(ctx context.Context) error {
	socket, _ := g.HostPath(protocol.JudgeSocket)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"what now?"}]}`)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://models"+gateway.OpenAIPrefix+"/v1/chat/completions", body)
	if err != nil {
		return err
	}
	res, err := client.Do(q)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// However a try ends, what its agent did until then is there to be read.
func TestATryThatWasKilledHasItsTrajectory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kill   func(*fixture, *Machine, State)
		status Status
		reason string
	}{
		{
			"cancelled", func(_ *fixture, m *Machine, _ State) { m.Cancel(Cancellation{Cause: "not any more"}) },
			Cancelled, ReasonCancelled,
		},
		{
			"its container is gone", func(b *fixture, _ *Machine, s State) { b.fake.Vanish(s.Workload.Name) },
			InfraError, ReasonGuestLost,
		},
		{
			"out of time", func(*fixture, *Machine, State) {}, // as its guest says
			Unresolved, ReasonDeadline,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.host.Gateway = models(t, http.StatusOK, 1)
			asked := make(chan error, 1)
			b.play(func(ctx context.Context, g *scripted) int {
				g.hello(ctx)
				asked <- g.ask(ctx)
				g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted})
				if tt.reason == ReasonDeadline {
					g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedDeadline})
				}
				<-ctx.Done()
				return 137
			})
			s := b.fresh(func(c *Cell) { c.Agent.API, c.Agent.Provider, c.Agent.Model = "openai", "p", "m" })
			m := b.machine(s)
			s, _ = b.until(m, s, Running)
			for s.EventSeq == 0 { // it has asked by then
				next, _, err := m.Step(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				s = next
			}
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			tt.kill(b, m, s)
			s, _ = b.until(m, s, Done)
			r := s.Result
			if r.Status != tt.status || r.Reason != tt.reason {
				t.Errorf("%s, %s (%s)", r.Status, r.Reason, r.Detail)
			}
			if r.Transcript == nil || r.Trajectory == nil {
				t.Fatalf("the record names no transcript or no trajectory: %+v", r)
			}
			text, err := os.ReadFile(filepath.Join(b.host.StateDir, r.Trajectory.File))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Version string `json:"schema_version"`
				Steps   []struct {
					Source  string `json:"source"`
					Message any    `json:"message"`
				} `json:"steps"`
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if n := len(got.Steps); got.Version != "ATIF-v1.7" || n != 2 || got.Steps[0].Message != "what now?" || got.Steps[1].Source != "agent" || got.Steps[1].Message != "no" {
				t.Errorf("the trajectory is %s", text)
			}
		})
	}
}
