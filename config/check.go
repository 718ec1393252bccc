package config

import (
	"errors"
	"fmt"
	"slices"
)

// force is what is in force: who owns each address and what it says.
type force struct {
	owner      map[string]*unit
	benchmarks map[string]*Benchmark
	agents     map[string]*Agent
	all        []any // pointers to the specs, in the order of files
}

// inForce joins what valid files say with what frozen files said. A name that both have
// belongs to the valid one.
func (l *loader) inForce() *force {
	f := newForce()
	for _, u := range l.units {
		if u.next != nil {
			f.take(u, u.next)
		}
	}
	for _, u := range l.units {
		if u.next == nil && u.last != nil {
			f.take(u, u.last)
		}
	}
	return f
}

// asWritten joins what all files say now, right or wrong. Of a text that cannot be read
// through the declarations count, and what was accepted of its file.
func (l *loader) asWritten() *force {
	f := newForce()
	for _, u := range l.units {
		if u.text != nil {
			f.take(u, u.text)
		}
	}
	for _, u := range l.units {
		if u.text == nil && u.last != nil {
			f.take(u, u.last)
		}
		for _, h := range u.headers {
			if f.owner[h.address] == nil {
				f.owner[h.address] = u
			}
		}
	}
	return f
}

func newForce() *force {
	return &force{owner: map[string]*unit{}, benchmarks: map[string]*Benchmark{}, agents: map[string]*Agent{}}
}

func (f *force) take(u *unit, blocks *Blocks) {
	blocks.each(func(b *Block, whole any) {
		if f.owner[b.Address()] != nil {
			return
		}
		f.owner[b.Address()] = u
		f.all = append(f.all, whole)
		switch spec := whole.(type) {
		case *Benchmark:
			f.benchmarks[b.Name] = spec
		case *Agent:
			f.agents[b.Name] = spec
		}
	})
}

// blocks returns copies of all that is in force.
func (f *force) blocks() Blocks {
	runs := 0
	for _, whole := range f.all {
		if _, ok := whole.(*Run); ok {
			runs++
		}
	}
	out := Blocks{Runs: slices.Grow([]Run(nil), runs)} // there may be ten thousand
	for _, whole := range f.all {
		out.add(whole)
	}
	return out
}

// names returns the names of one kind that are in force or declared.
func (c *checker) names(kind string) []string {
	addresses := sortedKeys(c.f.owner)
	for _, u := range c.l.units {
		for _, h := range u.headers {
			addresses = append(addresses, h.address)
		}
	}
	slices.Sort(addresses)
	var out []string
	for _, address := range slices.Compact(addresses) {
		if k, name, _ := splitAddress(address); k == kind {
			out = append(out, name)
		}
	}
	return out
}

// check looks at what the blocks of a file mean beside all others and on this machine.
func (l *loader) check(u *unit, blocks *Blocks, f *force) Diagnostics {
	c := &checker{l: l, u: u, f: f}
	for i := range blocks.Benchmarks {
		b := &blocks.Benchmarks[i]
		c.block = &b.Block
		for j := range b.Tasks {
			c.resources(b.Tasks[j].Work.Resources, b.Tasks[j].Place, "work")
			c.resources(ownOfJudge(&b.Tasks[j]), b.Tasks[j].Place, "judge")
		}
		for j := range b.Imports {
			c.imported(&b.Imports[j])
		}
	}
	for i := range blocks.Runs {
		r := &blocks.Runs[i]
		c.block = &r.Block
		c.resources(r.Work, r.Place, "work")
		c.resources(r.Judge, r.Place, "judge")
		for _, ref := range r.Tasks {
			c.ref(ref)
			c.fits(r, ref)
		}
		for j := range r.Agents {
			c.agent(r, &r.Agents[j])
		}
	}
	for i := range blocks.Minings {
		m := &blocks.Minings[i]
		c.block = &m.Block
		c.mining(m)
	}
	return c.found
}

// checker collects what is wrong with the blocks of one file.
type checker struct {
	l     *loader
	u     *unit
	f     *force
	block *Block
	found Diagnostics
}

func (c *checker) fail(at Pos, summary, detail string) {
	c.found = append(c.found, c.u.complaint(c.block, at, summary, detail))
}

// ref reports a reference to nothing.
func (c *checker) ref(ref Ref) {
	if c.f.owner[ref.Kind+"."+ref.Name] == nil {
		c.fail(ref.Pos, "Undefined reference", fmt.Sprintf("There is no %s %q%s", ref.Kind, ref.Name, c.instead(ref.Kind, ref.Name, c.names(ref.Kind))))
		return
	}
	if ref.Kind != "benchmark" || ref.Task == "" {
		return
	}
	b := c.f.benchmarks[ref.Name]
	if b == nil || b.Pending() != nil || len(here(benchmarkGaps(b, c.l.o))) > 0 {
		return // its tasks are not known: the text is broken, or they are not imported
	}
	var names []string
	for _, task := range b.All() {
		names = append(names, task.Name())
	}
	if !slices.Contains(names, ref.Task) {
		c.fail(ref.Pos, "Undefined reference", fmt.Sprintf("benchmark.%s has no task %q%s", ref.Name, ref.Task, suggest(ref.Task, names)))
	}
}

// imported tells what of a dataset cannot be used. It is a warning where the rest can. A notice
// that many tasks have is one.
func (c *checker) imported(i *Import) {
	same := map[string]int{} // notices by their texts
	for _, p := range i.Problems {
		if p.Notice {
			same[p.Text]++
		}
	}
	for _, p := range i.Problems {
		others := same[p.Text] - 1
		if p.Notice && others < 0 {
			continue // told with the first
		}
		where := p.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		summary, detail := "Not imported: "+where, sentence(errors.New(p.Text))
		switch {
		case p.Pending:
			summary = "Not here yet: " + where
		case p.Notice:
			summary = "Imported, but look at " + where
			if others > 0 {
				summary += fmt.Sprintf(" and %d more", others)
			}
			same[p.Text] = 0
		case p.Kept:
			detail += " The specs that were accepted before stay."
		}
		d := c.u.complaint(c.block, i.Pos, summary, detail)
		if len(i.Tasks) > 0 || p.Pending { // nothing at all is an error
			d.Severity = Warning
		}
		c.found = append(c.found, d)
	}
}

// fits reports imported tasks of a run that could never be admitted. They say what they need
// where nobody here can change it: the run leaves them out, or sizes them otherwise.
func (c *checker) fits(r *Run, ref Ref) {
	b := c.f.benchmarks[ref.Name]
	if ref.Kind != "benchmark" || b == nil {
		return
	}
	for _, s := range b.All() {
		if s.Imported == nil || ref.Task != "" && ref.Task != s.Name() || !r.selects(s.Name()) {
			continue
		}
		place := Place{Pos: ref.Pos}
		c.resources(rest(s.Imported.Work, r.Work), place, fmt.Sprintf("task %q, which the run can exclude or size otherwise: work", s.Name()))
		c.resources(rest(s.Imported.Judge, r.Judge), place, fmt.Sprintf("task %q, which the run can exclude or size otherwise: judge", s.Name()))
	}
}

// rest is what a task asks for and the run does not override.
func rest(asked, override Resources) Resources {
	if override.CPUs > 0 {
		asked.CPUs = 0
	}
	if override.Memory > 0 {
		asked.Memory = 0
	}
	if override.Disk > 0 {
		asked.Disk = 0
	}
	return asked
}

// instead says where the missing name is declared in a file that was not accepted, or
// what was meant.
func (c *checker) instead(kind, name string, known []string) string {
	for _, u := range c.l.units {
		for _, h := range u.headers {
			if h.address == kind+"."+name {
				return fmt.Sprintf(": the file that declares it at %s is not accepted.", h.pos)
			}
		}
	}
	return suggest(name, known)
}

// builtins returns the agents that need no declaration, with the API each speaks.
func builtins() map[string]string {
	all := programs()
	all["oracle"], all["nop"] = "none", "none"
	return all
}

// programs are those of them that are programs of others.
func programs() map[string]string {
	return map[string]string{"claude-code": "anthropic", "codex": "openai", "opencode": "openai"}
}

func (c *checker) agent(r *Run, a *RunAgent) {
	api, ok := builtins()[a.Name]
	declared := c.f.agents[a.Name]
	switch {
	case declared != nil:
		api = declared.API
	case c.f.owner["agent."+a.Name] != nil:
		return // declared in a text that is broken
	case !ok:
		known := append(c.names("agent"), sortedKeys(builtins())...)
		c.fail(a.Pos, "Unknown agent", fmt.Sprintf("No agent %q is declared or built in%s", a.Name, c.instead("agent", a.Name, known)))
		return
	}
	builtIn := declared == nil || declared.Command.Empty()
	if _, program := programs()[a.Name]; builtIn && program && a.Model == "" {
		c.fail(a.Pos, "No model", fmt.Sprintf("The run names no model for %q. Its program then takes one of its own choice, and another version may choose another. Name one: agent %q { model = \"…\" }.", a.Name, a.Name))
		c.found[len(c.found)-1].Severity = Warning
	}
	c.model(r, a, api, builtIn && a.Name == "opencode")
}

// model checks who thinks for an agent that speaks a protocol. One that is versatile speaks
// that of its provider.
func (c *checker) model(r *Run, a *RunAgent, api string, versatile bool) {
	name := a.Provider
	if name == "" && api != "none" {
		name = api
	}
	if name == "" {
		return
	}
	at := a.Of("provider")
	c.provider(name, at, len(here(runGaps(r, c.l.o))) > 0)
	p, ok := c.l.o.Settings.Providers[name]
	if !ok {
		return
	}
	if api != p.Protocol && api != "none" && !versatile {
		c.fail(at, "Another protocol", fmt.Sprintf("The agent %q speaks the protocol of %s, and provider %q that of %s. Name a provider that speaks the agent's.", a.Name, api, name, p.Protocol))
	}
	if versatile && p.Protocol == "anthropic" && a.Effort != "" {
		// Told apart by it in every record, such agents would think as hard as each other.
		c.fail(a.Of("effort"), "Effort without effect", fmt.Sprintf("The agent %q passes its effort on in the protocol of openai only, and provider %q speaks that of %s. Remove the effort, name a provider that speaks openai's, or take the agent \"claude-code\".", a.Name, name, p.Protocol))
	}
	if r.Budget == nil || r.Budget.Each.USD == 0 && r.Budget.Total.USD == 0 {
		return
	}
	if a.Model == "" && !p.pricesAny() {
		c.fail(r.Of("budget"), "No price", fmt.Sprintf("The agent %q asks for models of its own choice, and nothing says what they cost: they count as nothing, and no budget in dollars ends it. Give provider %q prices in the settings, or the run a budget in tokens.", a.Name, name))
		c.found[len(c.found)-1].Severity = Warning
	}
	if a.Model != "" && !p.prices(a.Model) {
		c.fail(r.Of("budget"), "No price", fmt.Sprintf("Nothing says what the model %q costs: it counts as nothing, and no budget in dollars ends it. Give provider %q a price for it in the settings, or the run a budget in tokens.", a.Model, name))
		c.found[len(c.found)-1].Severity = Warning
	}
}

// mining checks who thinks for a mining spec, and with what GitHub is asked.
func (c *checker) mining(m *Mining) {
	for i, t := range c.l.o.Settings.GitHub.Tokens {
		if _, ok := t.Value(c.secret); !ok {
			c.fail(m.Of("source"), "Missing token", fmt.Sprintf("Of the tokens for github in the settings, number %d cannot be read%s.", i+1, named(t)))
		}
	}
	at := m.Of("provider")
	c.provider(m.Provider, at, false)
	p, ok := c.l.o.Settings.Providers[m.Provider]
	if !ok {
		return
	}
	if p.Protocol != "openai" {
		c.fail(at, "Another protocol", fmt.Sprintf("Mining asks by chat completions, and provider %q speaks the protocol of %s. Name a provider that speaks openai's.", m.Provider, p.Protocol))
	}
	if m.Budget != nil && (m.Budget.Each.USD > 0 || m.Budget.Total.USD > 0) && !p.prices(m.Model) {
		c.fail(m.Of("budget"), "No price", fmt.Sprintf("Nothing says what the model %q costs: it counts as nothing, and no budget in dollars ends it. Give provider %q a price for it in the settings, or the spec a budget in tokens.", m.Model, m.Provider))
		c.found[len(c.found)-1].Severity = Warning
	}
}

// provider reports a model API that is not known, or whose key is missing. The latter
// hinders only what would be started.
func (c *checker) provider(name string, at Pos, unsupported bool) {
	p, ok := c.l.o.Settings.Providers[name]
	if !ok {
		c.fail(at, "Unknown provider", fmt.Sprintf("The settings have no provider %q%s", name, suggest(name, sortedKeys(c.l.o.Settings.Providers))))
		return
	}
	if _, ok := p.APIKey.Value(c.secret); !ok {
		c.fail(at, "Missing API key", sentence(p.NoKey(name)))
		if unsupported {
			c.found[len(c.found)-1].Severity = Warning
		}
	}
}

// named says by what name a secret is looked up.
func named(s Secret) string {
	if s.Name() == "" {
		return ""
	}
	return fmt.Sprintf(": there is no secret %q", s.Name())
}

func (c *checker) secret(name string) (string, bool) {
	if c.l.o.Secret == nil {
		return "", false
	}
	_, ok := c.l.o.Secret(name)
	return "", ok
}

// leastMemory is what Docker asks of a container: "Minimum memory limit allowed is 6MB".
const leastMemory = 6 << 20

// resources reports a container that could never be admitted.
func (c *checker) resources(r Resources, place Place, part string) {
	host, limits := c.l.o.Host, c.l.o.Settings.Limits
	c.atMost(place.Of(part+".cpus"), part+".cpus", r.CPUs, host.CPUs, limits.CPUs, func(n float64) string { return fmt.Sprintf("%v CPUs", n) })
	c.atMost(place.Of(part+".memory"), part+".memory", float64(r.Memory), float64(host.Memory), float64(limits.Memory), showBytes)
	if at := place.Of(part + ".memory"); r.Memory > 0 && r.Memory < leastMemory {
		c.fail(at, "Less than a container needs", fmt.Sprintf("%s.memory asks for %s; the engine starts no container with less than %s.", part, showBytes(float64(r.Memory)), showBytes(leastMemory)))
	}
	c.atMost(place.Of(part+".disk"), part+".disk", float64(r.Disk), float64(host.Disk), float64(limits.Disk), showBytes)
}

// ownOfJudge leaves out what the judge has from its work container, where that is told.
func ownOfJudge(t *Task) Resources {
	own, work := t.Judge.Resources, t.Work.Resources
	if own.CPUs == work.CPUs {
		own.CPUs = 0
	}
	if own.Memory == work.Memory {
		own.Memory = 0
	}
	if own.Disk == work.Disk {
		own.Disk = 0
	}
	return own
}

func (c *checker) atMost(at Pos, what string, want, host, limit float64, show func(float64) string) {
	switch {
	case host > 0 && want > host:
		c.fail(at, "More than the machine has", fmt.Sprintf("%s asks for %s; the machine has %s.", what, show(want), show(host)))
	case limit > 0 && want > limit:
		c.fail(at, "More than the limits allow", fmt.Sprintf("%s asks for %s; the limits of the settings allow %s.", what, show(want), show(limit)))
	}
}

func showBytes(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			return fmt.Sprintf("%.4g %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.4g TiB", n)
}
