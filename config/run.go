package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (b labelled) agent(head Block) Agent {
	api, program := programs()[head.Name]
	keeps := program && !b.has("command") && (b.has("layer") || b.has("install"))
	if keeps { // all but where the program comes from is the built-in agent's
		for _, name := range []string{"resume_command", "api", "stop_hook"} {
			if b.has(name) {
				b.need("command")
			}
		}
	} else if program && b.syntax != nil && !b.has("command") {
		b.f.fail(b.header, `Missing "command"`, fmt.Sprintf("%q is built in and needs no declaration: remove this block, or say with \"install\" or \"layer\" where its program comes from, or with \"command\" what runs in its place.", head.Name))
	} else {
		b.need("command")
	}
	out := Agent{
		Block:         head,
		Command:       b.command("command", checkTemplate),
		ResumeCommand: b.command("resume_command", checkTemplate),
		Dir:           b.tree("dir"),
		Install:       b.checkedList("install", nil, notEmpty),
		API:           b.choice("api", "none", "openai", "anthropic", "none"),
		Env:           b.env(),
		StopHook:      b.choice("stop_hook", "none", "claude", "codex", "none"),
		User:          b.text("user", ""),
	}
	b.checkPrompt("command", out.Command)
	b.checkPrompt("resume_command", out.ResumeCommand)
	if layer, ok := b.one("layer"); ok {
		out.Layer = &Layer{Image: layer.checked("image", "", checkImage), Setup: layer.checkedList("setup", nil, notEmpty)}
		layer.exclusive("image", "setup")
		if !layer.has("setup") {
			layer.need("image")
		}
		layer.close()
	}
	b.exclusive("layer", "install")
	if keeps {
		out.API = api
	}
	return out
}

func (b labelled) run(head Block) Run {
	mode := b.choice("mode", "iterative", "iterative", "single")
	timeout := time.Hour
	if mode == "single" {
		timeout = 10 * time.Minute
	}
	b.need("tasks")
	b.need("agent")
	out := Run{
		Block:       head,
		Tasks:       b.refs("tasks"),
		Include:     b.globs("include", []string{"*"}),
		Exclude:     b.globs("exclude", nil),
		Agents:      b.runAgents(),
		Mode:        mode,
		Timeout:     b.positive("timeout", timeout),
		TestTimeout: b.positive("test_timeout", 2*time.Minute),
		Attempts:    b.whole("attempts", 1, 1),
		Parallel:    b.whole("parallel", 1, 1),
		Stagger:     b.duration("stagger", 0),
		Paused:      b.boolean("paused", false),
		Priority:    b.priority(),
		Schedule:    b.checked("schedule", "", checkCron),
		AutoEval:    b.duration("auto_eval", 5*time.Minute),
		StopHook:    b.boolean("stop_hook", true),
		Idle:        read(b.body, "idle", 0, toIdle),
		Resume:      b.resume(),
		Submissions: b.submissions(),
		SanityCheck: b.boolean("sanity_check", true),
		Budget:      b.runBudget(),
		Keep:        b.choice("keep", "never", "never", "failed", "always"),
		Engine:      b.choice("engine", b.f.o.Settings.engine(), sortedKeys(b.f.o.engineKinds())...),
		OnChange:    b.choice("on_change", OnChangeReport, OnChangeReport, OnChangeRerun),
	}
	if network := b.network(Network{}); network.Mode != "" {
		out.Network = &network
	}
	out.Work, out.Judge = b.override("work"), b.override("judge")
	retry, _ := b.one("retry")
	out.Retry.Infra = retry.whole("infra", 2, 0)
	retry.close()
	return out
}

// Bounds of the priority of a run.
const (
	lowestPriority  = -100
	highestPriority = 100
)

func (b *body) priority() int {
	return read(b, "priority", 0, func(v cty.Value) (int, error) {
		if _, err := toNumber(v, lowestPriority, highestPriority); err != nil {
			return 0, err
		}
		return toWhole(v, lowestPriority)
	})
}

// toIdle reads "continue" as 0, or a number of stop attempts.
func toIdle(v cty.Value) (int, error) {
	if v.Type() == cty.Number {
		return toWhole(v, 1)
	}
	if s, err := toText(v); err != nil || s != "continue" {
		return 0, fmt.Errorf(`write "continue" or a number of stop attempts`)
	}
	return 0, nil
}

func (b *body) resume() Resume {
	r, _ := b.one("resume")
	defer r.close()
	return Resume{
		Max:        r.whole("max", 100, 0),
		MinRuntime: r.duration("min_runtime", time.Second),
		Backoff:    r.duration("backoff", 2*time.Second),
	}
}

func (b *body) submissions() Submissions {
	s, _ := b.one("submissions")
	defer s.close()
	return Submissions{Max: s.whole("max", 0, 0), Cooldown: s.duration("cooldown", 0)}
}

// budget reads what each piece of work and all together may cost.
func (b *body) budget(each string) *Budget {
	budget, ok := b.one("budget")
	out := &Budget{Each: budget.spend(each), Total: budget.spend("total")}
	budget.close()
	if !ok {
		return nil
	}
	return out
}

// runBudget is budget of a run, which also says what happens at the limit of the total.
func (b *body) runBudget() *Budget {
	budget, ok := b.one("budget")
	out := &Budget{Each: budget.spend("per_trial"), Total: budget.spend("total")}
	if limit := budget.choice("at_limit", AtLimitEnd, AtLimitEnd, AtLimitHold); limit != AtLimitEnd {
		out.AtLimit = limit
	}
	if budget.has("at_limit") && out.Total == (Spend{}) {
		b.f.fail(budget.where("at_limit"), "No limit", "at_limit says what happens when the total is used up, and there is none. Add total { usd = 100 }, or remove at_limit.")
	}
	if each, total := out.Each, out.Total; total.USD > 0 && each.USD > total.USD || total.Tokens > 0 && each.Tokens > total.Tokens {
		b.f.fail(budget.where("per_trial"), "No trial fits", "One trial may spend more than all of them together, so none starts. Raise total, or lower per_trial.")
	}
	budget.close()
	if !ok {
		return nil
	}
	return out
}

func (b *body) spend(name string) Spend {
	s, _ := b.one(name)
	defer s.close()
	return Spend{USD: s.number("usd", 0, 0, 1e12), Tokens: int64(s.whole("tokens", 0, 0))}
}

func (b *body) override(name string) Resources {
	o, _ := b.one(name)
	defer o.close()
	return o.resources(Resources{})
}

func (b *body) runAgents() []RunAgent {
	var out []RunAgent
	for _, a := range b.many("agent") {
		agent := RunAgent{
			Name: a.label, Place: a.place,
			Label: a.text("label", ""), Model: a.text("model", ""), Effort: a.text("effort", ""),
			Version: a.text("version", ""), Provider: a.text("provider", ""), Env: a.env(),
		}
		a.close()
		for _, other := range out {
			if sameAgent(other, agent) {
				a.f.fail(a.header, "Duplicate agent", fmt.Sprintf("Its results could not be told from those of the one at %s, which has the same name and model; give one of them a label.", other.Pos))
			}
		}
		out = append(out, agent)
	}
	return out
}

// sameAgent says whether records, which have an agent's title and model, cannot tell a from b.
func sameAgent(a, b RunAgent) bool {
	return cmp.Or(a.Label, a.Name) == cmp.Or(b.Label, b.Name) && a.Model == b.Model
}

// refs reads references to tasks. They are read as they are written, not evaluated.
func (b *body) refs(name string) []Ref {
	b.attrs = append(b.attrs, name)
	attr, ok := b.syntax.Attributes[name]
	if !ok {
		return nil
	}
	b.at[b.prefix+name] = pos(attr.NameRange)
	items, diags := hcl.ExprList(attr.Expr)
	if diags.HasErrors() || len(items) == 0 {
		b.f.fail(attr.Expr.Range(), fmt.Sprintf("Invalid value for %q", name), "Write a list of references, as in [benchmark.edge, mining.hard-go].")
		return nil
	}
	var out []Ref
	for _, item := range items {
		ref, err := toRef(item)
		if err != nil {
			b.f.fail(item.Range(), "Invalid reference", sentence(err))
			continue
		}
		ref.Pos = pos(item.Range())
		out = append(out, ref)
	}
	return out
}

// toRef reads benchmark.X, benchmark.X.TASK, benchmark.X["TASK"] or mining.X.
func toRef(expr hcl.Expression) (Ref, error) {
	form := fmt.Errorf(`write benchmark.NAME, benchmark.NAME["TASK"] or mining.NAME`)
	if _, quoted := expr.(*hclsyntax.TemplateExpr); quoted {
		return Ref{}, fmt.Errorf("a reference is written without quotes: %w", form)
	}
	steps, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || len(steps) < 2 || len(steps) > 3 {
		return Ref{}, form
	}
	ref := Ref{Kind: steps.RootName()}
	name, ok := stepName(steps[1])
	ref.Name = name
	if len(steps) == 3 && ok {
		ref.Task, ok = stepName(steps[2])
	}
	switch {
	case ref.Kind != "benchmark" && ref.Kind != "mining":
		return Ref{}, fmt.Errorf("%q has no tasks: %w", ref.Kind, form)
	case !ok || len(steps) == 3 && (ref.Kind == "mining" || !importedName.MatchString(ref.Task)):
		return Ref{}, form
	}
	return ref, nil
}
