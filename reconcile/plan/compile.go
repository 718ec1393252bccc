package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/robfig/cron/v3"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/config/shell"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/trial"
)

// maxBackoff is where the pause before an agent is started again stops doubling.
const maxBackoff = 5 * 60 * 1e9

// Compile turns a run block into cells: plain values, so that a comment or a renamed local
// never makes another cell. The set has been checked, so references resolve.
func Compile(set *config.Set, r config.Run) (*Run, error) { return NewCompiler(set).Compile(&r) }

// Compiler compiles the runs of one set. A task that many of them select is read once, for as
// long as the compiler is kept: the runs hold on to none of it.
type Compiler struct {
	set  *config.Set
	read map[config.Selected]task.Task
}

// NewCompiler returns a compiler of the set's runs.
func NewCompiler(set *config.Set) *Compiler {
	return &Compiler{set: set, read: map[config.Selected]task.Task{}}
}

// Set is the set whose runs it compiles.
func (all *Compiler) Set() *config.Set { return all.set }

// Compile is as the function of that name. The run keeps r, which must not change.
func (all *Compiler) Compile(r *config.Run) (*Run, error) {
	c := compiler{Compiler: all, origin: &origin{set: all.set, run: r}}
	tasks := c.compile(all.set.Tasks(r))
	agents := c.agents()
	c.gaps("", c.run.Unsupported)
	d := &Run{
		Name: r.Name, Generation: r.Generation, Parallel: max(r.Parallel, 1), Stagger: r.Stagger,
		Retries: r.Retry.Infra, Keep: r.Keep, OnChange: r.OnChange, Paused: r.Paused, Priority: r.Priority, source: newSource(c.origin, agents),
	}
	if r.Budget != nil {
		d.Each, d.Total, d.AtLimit = gateway.Budget(r.Budget.Each), gateway.Budget(r.Budget.Total), r.Budget.AtLimit
	}
	if r.Schedule != "" {
		s, err := cron.ParseStandard("TZ=UTC " + r.Schedule)
		if err != nil {
			return nil, config.At(r.Of("schedule"), fmt.Errorf("schedule %q: %w", r.Schedule, err))
		}
		d.Schedule = s
	}
	d.Waits, d.Grows = WaitsFor(all.set, r), grows(all.set, r)
	if len(tasks) == 0 && len(c.blocked) == 0 && d.Waits == "" && !d.Grows {
		c.block("it selects no task")
	}
	d.Images = imagesOfAll(tasks, agents)
	c.check(tasks, agents)
	d.cells = d.cells.with(d.source, 0, len(tasks), len(agents))
	if len(c.blocked) > 0 {
		slices.Sort(c.blocked)
		d.Blocked = strings.Join(slices.Compact(c.blocked), "; ")
	}
	return d, nil
}

// imagesOfAll are the names of images that tasks and the layers of agents are made of, each with
// the addresses of the tasks that it is for.
func imagesOfAll(tasks []task.Task, agents []agent.Agent) map[string][]string {
	all := map[string][]string{}
	for _, t := range tasks {
		refs := ImagesOf(t)
		for _, a := range agents {
			if a.Layer != nil {
				refs = append(refs, a.Layer.Image)
			}
		}
		for _, ref := range slices.Compact(slices.Sorted(slices.Values(refs))) {
			if ref != "" {
				all[ref] = append(all[ref], TaskAddress(t.Benchmark, t.Name))
			}
		}
	}
	return all
}

// Grow compiles a run again that has got tasks since. Where these are the last ones, only those are
// compiled, and all their attempts come behind the cells that there were: thousands may come, one by one.
func (all *Compiler) Grow(was *Run, r *config.Run) (*Run, error) {
	if was == nil || was.Blocked != "" || was.cells.Len() == 0 || was.cells.batches == nil {
		return all.Compile(r)
	}
	before := was.source.origin()
	if before.set != all.set || before.run != r {
		return all.Compile(r)
	}
	selected, n := all.set.Tasks(r), len(before.selected)
	if len(selected) < n || !slices.Equal(selected[:n], before.selected) {
		return all.Compile(r)
	}
	d := *was
	d.summed, d.Waits, d.Grows = "", WaitsFor(all.set, r), grows(all.set, r)
	c := compiler{Compiler: all, origin: &origin{set: all.set, run: r}}
	tasks := c.compile(selected[n:])
	agents := c.agents()
	c.check(tasks, agents)
	if len(c.blocked) > 0 {
		return all.Compile(r)
	}
	grown := *before
	grown.selected = selected // the tasks of its cells are where they were
	was.source.now.Store(&grown)
	d.cells = was.cells.with(was.source, n, len(tasks), len(agents))
	d.Images = maps.Clone(was.Images)
	for ref, of := range imagesOfAll(tasks, agents) {
		d.Images[ref] = append(slices.Clip(d.Images[ref]), of...)
	}
	return &d, nil
}

// compiler compiles one run.
type compiler struct {
	*Compiler
	*origin
	blocked []string
}

// source is what the cells of a run are made from: ten thousand runs of one task hold no copy of
// it. Any goroutine may read it. Only the loop changes to a later origin, of which the same cells are made.
type source struct {
	now    atomic.Pointer[origin]
	agents map[string]int // places of the agents among those of the run, by title
	asks   []string       // provider whose models each of them asks, by place; "" = it asks none
	places sync.Map       // placeOfTask of each task, by address
}

func newSource(o *origin, agents []agent.Agent) *source {
	s := &source{agents: map[string]int{}}
	s.now.Store(o)
	for i, a := range agents {
		s.agents[a.Title()] = i
		s.asks = append(s.asks, providerOf(a))
	}
	return s
}

// providerOf is the provider whose models an agent asks; "" = it asks none.
func providerOf(a agent.Agent) string {
	if !a.Asks() {
		return ""
	}
	return a.Provider
}

func (s *source) origin() *origin { return s.now.Load() }

// origin is a run in a set. It does not change once it is the origin of a source.
type origin struct {
	set      *config.Set
	run      *config.Run
	selected []config.Selected  // of the tasks that could be read
	named    []*config.RunAgent // of the agents that there are
}

// moveTo has the cells of a run made from a later set, in which nothing that they are made from has
// changed, so that the former set can be given up. False: it is not certain that nothing has.
func (d *Run) moveTo(set *config.Set) bool {
	run, before := set.Run(d.Name), d.source.origin()
	if run == nil || d.Blocked != "" || d.Waits != "" || d.Grows || run.Generation != d.Generation || len(run.Agents) != len(before.named) {
		return false
	}
	selected := set.Tasks(run)
	if !slices.EqualFunc(selected, before.selected, func(a, b config.Selected) bool { return a.Address() == b.Address() }) {
		return false
	}
	now := &origin{set: set, run: run, selected: selected}
	for i := range run.Agents {
		now.named = append(now.named, &run.Agents[i])
	}
	d.source.now.Store(now)
	return true
}

func (c *compiler) block(reason string) { c.blocked = append(c.blocked, reason) }

func (c *compiler) blockf(format string, args ...any) { c.block(fmt.Sprintf(format, args...)) }

// gaps blocks the run for what this version does not do yet.
func (c *compiler) gaps(owner string, gaps []string) {
	for _, gap := range gaps {
		c.block(owner + gap + " is not in this version yet")
	}
}

// compile makes tasks of those that the run selects; what this version does not do blocks the run.
func (c *compiler) compile(selected []config.Selected) (tasks []task.Task) {
	for _, s := range selected {
		c.gaps(fmt.Sprintf("task %q of %s: ", s.Name(), s.Benchmark.Address()), s.Unsupported())
		t, known := c.read[s]
		if !known {
			var err error
			if t, err = CompileTask(s); err != nil {
				c.block(err.Error())
				continue
			}
			c.read[s] = t
		}
		tasks, c.selected = append(tasks, t), append(c.selected, s)
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
		return t, fmt.Errorf("task %q of %s: read the imported task: %w", s.Name(), s.Benchmark.Address(), err)
	}
	t.Benchmark = cmp.Or(t.Benchmark, s.Benchmark.Name)
	t.Judge.Decoys = mixedRuns(t, &s.Decoys)
	return t, nil
}

// defaultMixed is how many mixed runs the rounds that decide have in a task that is written out
// with a solution and does not say it: in four each test is changed twice.
const defaultMixed = 4

// mixedRuns is how many mixed runs a task has; said is what its spec says, nil = nothing.
func mixedRuns(t task.Task, said *int) int {
	switch {
	case t.Solution == nil || t.Judge.Staged() || t.Judge.Game != "":
		return 0
	case said != nil:
		return *said
	}
	return defaultMixed
}

// grows reports whether a run may come to have more tasks.
func grows(set *config.Set, r *config.Run) bool {
	return slices.ContainsFunc(r.Tasks, func(ref config.Ref) bool { return ref.Kind == "mining" && set.Mined().Grows(ref.Name) })
}

// WaitsFor says which dataset, or copy of a folder, of a run is not there yet; "" if all are.
func WaitsFor(set *config.Set, r *config.Run) string {
	for _, ref := range r.Tasks {
		b := set.Benchmark(ref.Name)
		if ref.Kind != "benchmark" || b == nil {
			continue
		}
		if i := b.Pending(); i != nil {
			at := slices.IndexFunc(i.Problems, func(p config.Problem) bool { return p.Pending })
			return b.Address() + " is not here yet: " + i.Problems[at].File
		}
	}
	if folder, address := set.PendingFolder(r); folder != "" {
		return address + " is not here yet: the folder " + folder + " is being copied"
	}
	return ""
}

// agents resolves the run's agent blocks.
func (c *compiler) agents() []agent.Agent {
	var agents []agent.Agent
	for i := range c.run.Agents {
		named := &c.run.Agents[i]
		if a, ok := agentOf(c.origin.set, named); ok {
			agents, c.named = append(agents, a), append(c.named, named)
		}
	}
	return agents
}

// agentOf is the agent that a run names. One declared under the name of a built-in one replaces
// it, or without a command only says how its program is installed.
func agentOf(set *config.Set, named *config.RunAgent) (agent.Agent, bool) {
	a, ok := agent.Builtin(named.Name, protocol.Program)
	if declared := set.Agent(named.Name); declared != nil {
		builtin := a
		a = compileAgent(*declared)
		if ok && declared.Command.Empty() {
			a.Program, a.API, a.StopHook = builtin.Program, builtin.API, builtin.StopHook // its version is what the steps install
		}
		ok = true
	}
	a.Label, a.Provider, a.Model, a.Effort = named.Label, named.Provider, named.Model, named.Effort
	a.Version = cmp.Or(named.Version, a.Version)
	if a.Asks() {
		a.Provider = cmp.Or(a.Provider, a.API)
	}
	a.Env = maps.Clone(a.Env)
	if len(named.Env) > 0 {
		if a.Env == nil {
			a.Env = map[string]string{}
		}
		maps.Copy(a.Env, named.Env)
	}
	return a, ok
}

func compileAgent(a config.Agent) agent.Agent {
	return agent.Agent{
		Name: a.Name, Command: agentCommand(a.Command), Resume: agentCommand(a.ResumeCommand),
		Dir: tree(a.Dir), Layer: agentLayer(a), API: a.API, Env: a.Env, StopHook: a.StopHook, User: a.User,
	}
}

func agentLayer(a config.Agent) *agent.Layer {
	switch {
	case a.Layer != nil:
		return &agent.Layer{Image: a.Layer.Image, Setup: a.Layer.Setup}
	case len(a.Install) > 0:
		return &agent.Layer{Setup: a.Install}
	}
	return nil
}

func tree(t config.Tree) task.Tree { return task.Tree{Digest: t.Digest} }

// recipe says which of the tasks and agents of a source a cell is of.
type recipe struct {
	source      *source
	task, agent int
	attempt     int
}

// cell makes the whole cell. Its task and agent have been compiled before, so they can be.
func (c recipe) cell() trial.Cell {
	of := c.source.origin()
	t, _ := CompileTask(of.selected[c.task])
	a, _ := agentOf(of.set, of.named[c.agent])
	return c.with(t, a)
}

// solution is the task's, which cells of agents lack that are not handed it.
func (c recipe) solution() *task.Solution {
	t, _ := CompileTask(c.source.origin().selected[c.task])
	return t.Solution
}

func (c recipe) with(t task.Task, a agent.Agent) trial.Cell {
	r, attempt := c.source.origin().run, c.attempt
	if r.Network != nil {
		t.Network = task.Network(*r.Network)
	}
	override(&t.Work, r.Work)
	override(&t.Judge.Part, r.Judge)
	if !a.Solves() {
		t.Solution = nil // it changes only the oracle's verdict; what its judging shows is fixed for an execution
	}
	if _, has := t.Metadata[sweforge.TestFilesKey]; has { // up to a megabyte, for exports alone
		t.Metadata = maps.Clone(t.Metadata)
		delete(t.Metadata, sweforge.TestFilesKey)
	}
	cell := trial.Cell{
		Task: t, Agent: a, Attempt: attempt, Mode: r.Mode, Timeout: r.Timeout, TestTimeout: r.TestTimeout,
		AutoEval: r.AutoEval, StopHook: r.StopHook, Idle: r.Idle,
		Resume: trial.Resume{
			Max: r.Resume.Max, MinRuntime: r.Resume.MinRuntime, Backoff: r.Resume.Backoff, MaxBackoff: maxBackoff,
		},
		Max: r.Submissions.Max, Cooldown: r.Submissions.Cooldown, SanityCheck: r.SanityCheck,
	}
	if b := r.Budget; b != nil {
		cell.Each, cell.Total = gateway.Budget(b.Each), gateway.Budget(b.Total)
	}
	if r.Mode == trial.Single { // one go without feedback: none of these changes anything
		cell.AutoEval, cell.StopHook, cell.Idle, cell.Max, cell.Cooldown = 0, false, 0, 0, 0
		cell.Resume = trial.Resume{}
	}
	return cell
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
		out.Private = &task.Private{Context: tree(p.Context), Command: command(p.Command), Timeout: p.Timeout}
	}
	if t.Repo != nil {
		out.Repo = &task.Repo{URL: t.Repo.URL, Commit: t.Repo.Commit}
	}
	if s := t.Solution; s != nil {
		out.Solution = &task.Solution{Context: tree(s.Context), Patch: s.Patch, Script: s.Script}
	}
	out.Judge.Decoys = mixedRuns(out, t.Judge.Decoys)
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
		Part: part(j.Part), Command: command(j.Command), Timeout: j.Timeout, Parser: j.Parser,
		Select: j.Select, Direction: j.Direction, Feedback: j.Feedback, Protect: j.Protect, Expect: j.Expect,
		Network: j.Network, Exclusive: j.Exclusive,
	}
	if j.Rescale != nil {
		out.Rescale = &task.Rescale{Kind: j.Rescale.Kind, Anchors: j.Rescale.Anchors}
	}
	for _, s := range j.Stages {
		stage := &task.Stage{
			Image: s.Image, Context: tree(s.Context), Command: command(s.Command), Timeout: s.Timeout, Outputs: s.Outputs,
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

func command(c config.Command) task.Command { return task.Command{Shell: c.Shell, Argv: c.Argv} }

// agentCommand is that of an agent: a prompt is handed to the shell beside the line, not in it.
func agentCommand(c config.Command) task.Command {
	if shell.Holds(c.Shell) {
		if argv, err := shell.Bind(c.Shell); err == nil { // else it was refused
			return task.Command{Argv: argv}
		}
	}
	return command(c)
}
