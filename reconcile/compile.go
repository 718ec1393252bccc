package reconcile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/guest"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// maxBackoff is where the pause before an agent is started again stops doubling.
const maxBackoff = 5 * 60 * 1e9

// Compile turns a run block into cells: plain values, so that a comment or a renamed local
// never makes another cell. The set has been checked, so references resolve.
func Compile(set *config.Set, r config.Run) (*Run, error) {
	c := compiler{set: set, run: r, blocked: []string{}}
	tasks := c.tasks()
	agents := c.agents()
	c.gaps("", c.unexplained())
	d := &Run{
		Name: r.Name, Generation: r.Generation, Parallel: max(r.Parallel, 1), Stagger: r.Stagger,
		Retries: r.Retry.Infra, Keep: r.Keep,
	}
	if r.Schedule != "" {
		s, err := cron.ParseStandard("TZ=UTC " + r.Schedule)
		if err != nil {
			return nil, config.At(r.Of("schedule"), fmt.Errorf("schedule %q: %w", r.Schedule, err))
		}
		d.Schedule = s
	}
	if len(tasks) == 0 && len(c.blocked) == 0 {
		c.block("it selects no task")
	}
	seen := map[string]string{} // key -> agent
	for attempt := 1; attempt <= max(r.Attempts, 1); attempt++ {
		for _, t := range tasks {
			for _, a := range agents {
				if a.Solves() && t.Solution == nil {
					c.block(fmt.Sprintf("task %q has no solution for the oracle", t.Name))
				}
				cell := c.cell(t, a, attempt)
				key := cell.Key()
				if other, twice := seen[key]; twice {
					c.block(fmt.Sprintf("the agents %q and %q are the same in all that counts; give one of them a label", other, a.Title()))
					continue
				}
				seen[key] = a.Title()
				d.Cells = append(d.Cells, Cell{Key: key, Cell: cell})
			}
		}
	}
	if len(c.blocked) > 0 {
		slices.Sort(c.blocked)
		d.Blocked = strings.Join(slices.Compact(c.blocked), "; ")
	}
	return d, nil
}

type compiler struct {
	set     *config.Set
	run     config.Run
	blocked []string
}

func (c *compiler) block(reason string) { c.blocked = append(c.blocked, reason) }

// gaps blocks the run for what this version does not do yet.
func (c *compiler) gaps(owner string, gaps []string) {
	for _, gap := range gaps {
		c.block(owner + gap + " is not in this version yet")
	}
}

// unexplained are the run's gaps without the agents whose own gaps are told.
func (c *compiler) unexplained() []string {
	return slices.DeleteFunc(slices.Clone(c.run.Unsupported), func(gap string) bool {
		name, ok := strings.CutPrefix(gap, "the agent ")
		return ok && c.set.Agent(name) != nil
	})
}

// tasks are the tasks that the run selects; what this version does not do blocks the run.
func (c *compiler) tasks() []task.Task {
	var tasks []task.Task
	for _, s := range c.set.Tasks(&c.run) {
		c.gaps(fmt.Sprintf("task %q of %s: ", s.Name(), s.Benchmark.Address()), s.Unsupported())
		t, err := CompileTask(s)
		if err != nil {
			c.block(err.Error())
			continue
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// CompileTask turns a task of a benchmark into plain values.
func CompileTask(s config.Selected) (task.Task, error) {
	if s.Task != nil {
		return compileTask(*s.Benchmark, *s.Task), nil
	}
	var t task.Task
	if err := json.Unmarshal(s.Imported.Task, &t); err != nil {
		return t, fmt.Errorf("task %q of %s: read what was imported: %w", s.Name(), s.Benchmark.Address(), err)
	}
	t.Benchmark = cmp.Or(t.Benchmark, s.Benchmark.Name)
	return t, nil
}

// agents resolves the run's agent blocks; an agent declared under the name of a built-in
// one replaces it.
func (c *compiler) agents() []agent.Agent {
	var agents []agent.Agent
	for _, ra := range c.run.Agents {
		a, ok := agent.Builtin(ra.Name, guest.Program)
		if declared := c.set.Agent(ra.Name); declared != nil {
			c.gaps(declared.Address()+": ", declared.Unsupported)
			a, ok = compileAgent(*declared), true
		}
		if !ok {
			continue // among the run's gaps
		}
		a.Label, a.Version, a.Provider, a.Model, a.Effort = ra.Label, ra.Version, ra.Provider, ra.Model, ra.Effort
		env := maps.Clone(a.Env)
		if len(ra.Env) > 0 {
			if env == nil {
				env = map[string]string{}
			}
			maps.Copy(env, ra.Env)
		}
		a.Env = env
		agents = append(agents, a)
	}
	return agents
}

func compileAgent(a config.Agent) agent.Agent {
	return agent.Agent{
		Name: a.Name, Command: task.Command(a.Command), Resume: task.Command(a.ResumeCommand),
		Dir: tree(a.Dir), API: a.API, Env: a.Env, StopHook: a.StopHook, User: a.User,
	}
}

func tree(t config.Tree) task.Tree { return task.Tree{Digest: t.Digest} }

func (c *compiler) cell(t task.Task, a agent.Agent, attempt int) trial.Cell {
	r := c.run
	if r.Network != nil {
		t.Network = task.Network(*r.Network)
	}
	override(&t.Work, r.Work)
	override(&t.Judge.Part, r.Judge)
	if !a.Solves() {
		t.Solution = nil // it changes only the oracle's verdict
	}
	return trial.Cell{
		Task: t, Agent: a, Attempt: attempt, Mode: r.Mode, Timeout: r.Timeout, TestTimeout: r.TestTimeout,
		AutoEval: r.AutoEval, StopHook: r.StopHook, Idle: r.Idle,
		Resume: trial.Resume{
			Max: r.Resume.Max, MinRuntime: r.Resume.MinRuntime, Backoff: r.Resume.Backoff, MaxBackoff: maxBackoff,
		},
		Max: r.Submissions.Max, Cooldown: r.Submissions.Cooldown, SanityCheck: r.SanityCheck,
	}
}

func override(p *task.Part, r config.Resources) {
	p.CPUs = cmp.Or(r.CPUs, p.CPUs)
	p.Memory = cmp.Or(r.Memory, p.Memory)
	p.PIDs = cmp.Or(r.PIDs, p.PIDs)
	p.Disk = cmp.Or(r.Disk, p.Disk)
}

func compileTask(b config.Benchmark, t config.Task) task.Task {
	out := task.Task{
		Benchmark: b.Name, Name: t.Name, Title: t.Title, Platform: t.Platform, Workdir: t.Workdir,
		Instruction: t.Instruction, Network: task.Network(t.Network), Submit: task.Submit(t.Submit),
		Image: t.Image, Work: part(t.Work), Judge: compileJudge(t.Judge),
		FailToPass: t.FailToPass, PassToPass: t.PassToPass, Metadata: t.Metadata,
	}
	for _, base := range b.Bases {
		if t.Base != "" && base.Name == t.Base {
			out.Base = &task.Base{
				Name: base.Name, Image: base.Image, Packages: base.Packages, PipPackages: base.PipPackages,
				User: base.UserDirective, PostInstall: base.PostInstall,
			}
		}
	}
	if p := t.Private; p != nil {
		out.Private = &task.Private{Context: tree(p.Context), Command: task.Command(p.Command), Timeout: p.Timeout}
	}
	if t.Repo != nil {
		out.Repo = &task.Repo{URL: t.Repo.URL, Commit: t.Repo.Commit}
	}
	if s := t.Solution; s != nil {
		out.Solution = &task.Solution{Context: tree(s.Context), Patch: s.Patch, Script: s.Script}
	}
	return out
}

func part(p config.Part) task.Part {
	return task.Part{
		Image: p.Image, Context: tree(p.Context), Files: p.Files, Setup: p.Setup, User: p.User, Env: p.Env,
		CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk,
	}
}

func compileJudge(j config.Judge) task.Judge {
	out := task.Judge{
		Part: part(j.Part), Command: task.Command(j.Command), Timeout: j.Timeout, Parser: j.Parser,
		Select: j.Select, Direction: j.Direction, Feedback: j.Feedback, Protect: j.Protect, Expect: j.Expect,
		Network: j.Network, Exclusive: j.Exclusive,
	}
	if j.Rescale != nil {
		out.Rescale = &task.Rescale{Kind: j.Rescale.Kind, Anchors: j.Rescale.Anchors}
	}
	for _, s := range j.Stages {
		stage := &task.Stage{
			Image: s.Image, Context: tree(s.Context), Command: task.Command(s.Command), Timeout: s.Timeout, Outputs: s.Outputs,
		}
		if s.Name == "run" {
			out.Run = stage
		} else {
			out.Grade = stage
		}
	}
	if j.Game != "" {
		out.Game, out.Port = j.Game, j.Port
	}
	return out
}
