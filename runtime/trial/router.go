package trial

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial/record"
)

// openEgress opens the trial's way to what its network list names; nil where it has none.
func (m *Machine) openEgress(s State) (*egress.Proxy, error) {
	network := s.Cell.Task.Network
	if network.Mode != "allow" {
		return nil, nil
	}
	return egress.New(egress.Options{Allow: network.Allow, Log: m.log})
}

// reached tells once a trial is over where its agent went, and where it was kept from going.
func reached(s State, counts []egress.Count) []Effect {
	var effects []Effect
	for i, c := range counts {
		if i == maxReached {
			detail := fmt.Sprintf("and %d more destinations", len(counts)-i)
			return append(effects, Effect{"trial.event", record.Happened{Trial: s.ID, Event: "network", Detail: detail}})
		}
		where := net.JoinHostPort(cmp.Or(c.Host, "elsewhere"), strconv.Itoa(c.Port))
		detail := fmt.Sprintf("%s: %d requests admitted (%d failed), %d refused, %d bytes sent, %d received", where, c.Admitted, c.Failed, c.Refused, c.Sent, c.Received)
		effects = append(effects, Effect{"trial.event", record.Happened{Trial: s.ID, Event: "network", Detail: detail}})
	}
	return effects
}

// maxReached bounds the records on where an agent went.
const maxReached = 50

// openModels opens the trial's way to its model; nil where the agent needs none.
func (m *Machine) openModels(ctx context.Context, s State) (*gateway.Session, error) {
	a := s.Cell.Agent
	if !a.Asks() || m.host.Gateway == nil {
		return nil, nil
	}
	return m.host.Gateway.Open(ctx, gateway.Grant{
		Account: account(s), Provider: a.Provider, Model: a.Model, Each: s.Cell.Each, Total: s.Cell.Total,
		Dir: m.host.dir(s).Path(), Closed: s.Cell.Task.Network.Mode != "open",
	})
}

// account is whom a try's exchanges with models are charged to.
func account(s State) gateway.Account {
	return gateway.Account{Spec: s.Spec, Execution: s.Execution, Trial: s.ID, Try: s.Try}
}

// overBudget says whether the whole execution has nothing left to spend, or less than the try may.
func (m *Machine) overBudget(ctx context.Context, s State) (reason, detail string, err error) {
	if m.host.Gateway == nil || !s.Cell.Agent.Asks() {
		return "", "", nil
	}
	return m.host.Gateway.OverBudget(ctx, account(s), s.Cell.Each, s.Cell.Total)
}

// FlagCut marks a trial that ended because its run's budget was used up, not its own: with more it might have come
// further. Its verdict stands when the budget is raised, as another try of some would choose among results.
const FlagCut = "cut"

// overspent ends a trial whose budget is used up: what it has is judged.
func (m *Machine) overspent(s State) (State, []Effect) {
	s.Reason, s.Detail = m.handle.session.Reason()
	if m.handle.session.Shared() {
		s.Flags = appendOnce(s.Flags, FlagCut)
	}
	s.EndedAt, s.Phase = s.Line.Now(), Closing
	return s, []Effect{m.happened(s, "budget", s.Detail)}
}

// said waits until the transcript is written, before its session is closed.
func (m *Machine) said() error {
	if m.handle == nil || m.handle.session == nil {
		return nil
	}
	if err := m.handle.session.Flush(); ownTrouble(err) {
		return err
	}
	return nil // what is lost is told when it is closed
}

// spent adds what the agent's models took to the verdict, and makes the trajectory. What
// cannot be made of a transcript costs no verdict; a disk without room is waited for.
func (m *Machine) spent(ctx context.Context, s State, f *Finished) (err error) {
	if m.host.Gateway == nil || !s.Cell.Agent.Asks() {
		return nil
	}
	if err := m.host.Charge(ctx, s, f); err != nil {
		return err
	}
	dir := m.host.dir(s)
	a := s.Cell.Agent
	if err := transcript.WriteTrajectory(dir.Trajectory(), dir.Transcript(), transcript.Info{
		Session: fmt.Sprintf("%s/%d", s.ID, s.Try), Agent: a.Title(), Version: a.Version, Model: a.Model, Effort: a.Effort,
		Extra: map[string]any{"task": s.Cell.Task.Name, "attempt": s.Cell.Attempt, "status": f.Status},
	}); ownTrouble(err) {
		return fmt.Errorf("write the trajectory of trial %s: %w", s.ID, err)
	} else if err != nil {
		m.log.Warn("the trajectory cannot be written", "error", err)
	}
	f.Transcript = fileRecord(m.host.StateDir, dir.Transcript())
	f.Trajectory = fileRecord(m.host.StateDir, dir.Trajectory())
	return nil
}

// Charge fills in what the tries of a trial took up to that of the state: what those took that do
// not count is discarded. It is done again when the last one comes to count after all.
func (h Host) Charge(ctx context.Context, s State, f *Finished) error {
	if h.Gateway == nil || !s.Cell.Agent.Asks() {
		return nil
	}
	f.Usage, f.DiscardedUsage = Usage{}, Usage{}
	for a := account(s); a.Try > 0; a.Try-- {
		u, err := h.Gateway.Spent(ctx, a)
		if err != nil {
			return fmt.Errorf("sum up what try %d of trial %s took: %w", a.Try, s.ID, err)
		}
		f.Usage.Add(u)
		if a.Try < s.Try || !f.Final {
			f.DiscardedUsage.Add(u)
		}
	}
	f.LostUsage = f.DiscardedUsage
	return nil
}
