package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/task"
)

// create makes sure that what an agent leaves can be judged, writes the trial's folder and
// makes the container run. The workload is stored with the state, so that a later daemon
// adopts the container whatever it would make of the same task itself.
func (m *Machine) create(ctx context.Context, s State) (State, []Effect, error) {
	if s.Token == "" {
		// Stored before it is used: the folder below and the session must agree after a crash.
		s.Token = rand.Text()
		s.Workload = m.workload(s)
		return s, nil, nil
	}
	err := m.looked(ctx, s)
	if err == nil {
		s, err = m.outcomes(ctx, s)
	}
	if err != nil {
		return m.unlooked(ctx, s, err)
	}
	if err := m.prepareDir(s); ownTrouble(err) {
		return s, nil, fmt.Errorf("prepare the folder of trial %s: %w", s.ID, err)
	} else if err != nil {
		return fail(s, InfraError, ReasonEngine, fmt.Errorf("prepare the folder of trial %s: %w", s.ID, err)), nil, nil
	}
	fault.Reached(fault.FolderMade)
	c, err := m.host.Engine.Start(ctx, s.Workload)
	if err != nil {
		if ctx.Err() != nil || container.Unavailable(err) {
			return s, nil, err
		}
		status := startFailure(err)
		if status == InfraError && !errors.Is(err, container.ErrConflict) && m.waits(s) {
			return s, nil, err
		}
		return fail(s, status, ReasonEngine, err), nil, nil
	}
	fault.Reached(fault.ContainerStarted)
	s.Container, s.Phase = c.ID, Await
	return s, nil, nil
}

// startFailure tells a task that cannot start from a machine that cannot start it.
func startFailure(err error) Status {
	if errors.Is(err, container.ErrNotFound) || errors.Is(err, container.ErrCommandNotFound) {
		return SetupError
	}
	return InfraError
}

func (m *Machine) workload(s State) container.Workload {
	t := s.Cell.Task
	network := container.NetworkNone
	if t.Network.Mode == "open" {
		network = container.NetworkOpen
	}
	dir := m.host.dir(s)
	w := container.Workload{
		Name:    fmt.Sprintf("assayd-%.8s-%s-t%d", m.host.Owner, s.ID, s.Try),
		Image:   cmp.Or(s.Equipped, s.WorkImage.ID),
		Argv:    []string{protocol.Program, "run"},
		Env:     t.Work.Env,
		User:    "0:0", // the guest; it starts the agent as the image's user
		Workdir: t.Workdir,
		Network: network,
		Limits:  container.Limits{CPUs: t.Work.CPUs, Memory: t.Work.Memory, PIDs: t.Work.PIDs, Disk: t.Work.Disk},
		Mounts: []container.Mount{
			{Source: dir.Sockets(), Target: protocol.MountDir, ReadOnly: true},
			{Source: m.host.GuestDir, Target: protocol.BinDir, ReadOnly: true},
		},
	}
	for _, name := range []string{protocol.NameSubmit, protocol.NameSubmitSForge} {
		w.Mounts = append(w.Mounts, container.Mount{
			Source: filepath.Join(m.host.GuestDir, name), Target: "/usr/local/bin/" + name, ReadOnly: true,
		})
	}
	if staged(s.Cell.Agent) {
		w.Mounts = append(w.Mounts, container.Mount{
			Source: dir.Agent(), Target: protocol.AgentDir, ReadOnly: true,
		})
	}
	for _, l := range s.Layers {
		w.Mounts = append(w.Mounts, container.Mount{Source: l.Source, Target: l.Target, ReadOnly: true})
	}
	if hook := m.launch(s).Hook; hook.Dir != "" {
		w.Mounts = append(w.Mounts, container.Mount{Source: dir.Hook(), Target: hook.Dir, ReadOnly: true})
	}
	return w.WithLabels(labels(m.host.Owner, s, container.RoleWork))
}

// launch is how the trial's agent is started.
func (m *Machine) launch(s State) agent.Launch {
	return agent.Begin(s.Cell.Agent, s.Cell.Task, m.setting(s))
}

func staged(a agent.Agent) bool { return a.Solves() || a.Dir != task.Tree{} }

// prepareDir fills the trial's folder: the prompt, the guest's configuration and what is
// mounted at /agent. It may be repeated.
func (m *Machine) prepareDir(s State) error {
	prompt := s.Prompt()
	dir := m.host.dir(s)
	if err := dir.Prepare(prompt, m.guestConfig(s, prompt), m.launch(s).Hook); err != nil || !staged(s.Cell.Agent) {
		return err
	}
	return dir.Stage(func(begun string) error {
		return agent.Stage(begun, s.Cell.Agent, s.Cell.Task, m.host.OpenBlob)
	})
}

func (m *Machine) setting(s State) agent.Setting {
	out := s.setting()
	out.Protocol = m.protocol(s.Cell.Agent)
	return out
}

// Prompt is what the trial's agent reads.
func (s State) Prompt() string { return agent.Prompt(s.Cell.Task, s.Cell.Timeout, s.setting()) }

func (s State) setting() agent.Setting {
	return agent.Setting{
		Trial: s.ID, Token: s.Token, JudgeURL: "http://" + protocol.RelayAddr, PromptFile: protocol.PromptFile,
		Max: s.Cell.Max, Cooldown: s.Cell.Cooldown, AutoEval: s.Cell.AutoEval, Single: single(s), StopHook: s.Cell.StopHook,
		USD: s.Cell.Each.USD, Tokens: s.Cell.Each.Tokens,
		Hidden: s.Hidden,
	}
}

// defaults are variables of the agent where nothing else sets them. Python finds the modules of the
// agent's folder, so that python -m NAME starts one.
func defaults(s State) map[string]string {
	all := map[string]string{}
	maps.Copy(all, proxies(s))
	if s.Cell.Agent.Dir != (task.Tree{}) {
		all["PYTHONPATH"] = protocol.AgentDir
	}
	return all
}

// proxies are the variables that lead the agent's programs to what its network list names.
func proxies(s State) map[string]string {
	if s.Cell.Task.Network.Mode != "allow" {
		return nil
	}
	return egress.Environment(protocol.RelayAddr)
}

// protocol is what the provider of an agent's model speaks.
func (m *Machine) protocol(a agent.Agent) string {
	if m.host.Gateway == nil {
		return ""
	}
	return m.host.Gateway.Protocol(a.Provider)
}

func (m *Machine) guestConfig(s State, prompt string) protocol.Config {
	c := s.Cell
	launch := m.launch(s)
	idle := c.Idle
	if plays(s) {
		idle = 0 // no file has to change where an agent plays
	}
	return protocol.Config{
		Version: protocol.Version,
		Trial:   s.ID,
		Command: launch.Command,
		Resume:  launch.Resume,
		Env:     launch.Env,
		User:    cmp.Or(c.Agent.User, c.Task.Work.User, s.ImageUser),
		Workdir: c.Task.Workdir,
		Vars: map[string]string{
			"PromptFile": protocol.PromptFile, "Prompt": prompt, "Workdir": c.Task.Workdir,
			"Model": c.Agent.Model, "Effort": c.Agent.Effort, "Program": s.Program,
		},
		Policy: protocol.ResumePolicy{
			Max: c.Resume.Max, MinRuntime: c.Resume.MinRuntime, Backoff: c.Resume.Backoff,
			MaxBackoff: c.Resume.MaxBackoff, Idle: idle,
		},
		WatchPaths: c.Task.Submit.Paths,
		Path:       s.Path,
		Defaults:   defaults(s),
		LogBytes:   logBytes,
	}
}

// logBytes is what the guest keeps of the agent's output while the daemon is away.
const logBytes = 64 << 20
