package sforge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// HCL is the text of the run blocks of an experiment over a benchmark block of that name.
func (e Experiment) HCL(benchmark string) string {
	var b strings.Builder
	for i, r := range e.Runs {
		if i > 0 {
			b.WriteByte('\n')
		}
		p := printer{b: &b}
		p.open("run %s", literal(r.Name))
		p.set("tasks", "[benchmark."+benchmark+"]")
		p.set("include", list(r.Tasks))
		r.agent(&p)
		p.set("timeout", span(cmp.Or(r.Timeout, defaultTimeout)))
		p.set("parallel", fmt.Sprint(len(r.Tasks))) // all at once
		if e.Stagger > 0 {
			p.set("stagger", span(e.Stagger))
		}
		switch interval := cmp.Or(r.Interval, defaultInterval); {
		case r.NoEval:
			p.set("auto_eval", span(0))
		case interval != defaultInterval:
			p.set("auto_eval", span(interval))
		}
		if r.NoStopHook {
			p.set("stop_hook", "false")
		}
		if r.Internet != nil {
			p.set("network", literal(map[bool]string{true: "open", false: "none"}[*r.Internet]))
		}
		if r.Engine != "" {
			p.set("engine", literal(r.Engine))
		}
		r.blocks(&p)
		p.close()
	}
	return b.String()
}

func (r Run) agent(p *printer) {
	p.open("agent %s", literal(cmp.Or(r.Agent, defaultAgent)))
	if r.Model != "" {
		p.set("model", model(r.Model))
	}
	if r.Effort != "" {
		p.set("effort", literal(r.Effort))
	}
	if len(r.Env) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(r.Env)) {
			pairs = append(pairs, literal(name)+" = "+literal(r.Env[name]))
		}
		p.set("env", "{ "+strings.Join(pairs, ", ")+" }")
	}
	p.close()
}

// model is a name, or a variable of who runs it, which is looked up in the same way.
func model(text string) string {
	name, ok := strings.CutPrefix(text, "${")
	name, whole := strings.CutSuffix(name, "}")
	if ok && whole && !strings.ContainsAny(name, "${} ") {
		return "env(" + literal(name) + ")"
	}
	return literal(text)
}

func (r Run) blocks(p *printer) {
	if r.NoResume {
		p.open("resume")
		p.set("max", "0")
		p.close()
	}
	if r.Max > 0 || r.Cooldown > 0 {
		p.open("submissions")
		if r.Max > 0 {
			p.set("max", fmt.Sprint(r.Max))
		}
		if r.Cooldown > 0 {
			p.set("cooldown", span(r.Cooldown))
		}
		p.close()
	}
	for _, part := range []struct {
		name   string
		cpus   int
		memory string
	}{{"work", r.WorkCPUs, r.WorkMemory}, {"judge", r.JudgeCPUs, r.JudgeMemory}} {
		if part.cpus == 0 && part.memory == "" {
			continue
		}
		p.open("%s", part.name)
		if part.cpus > 0 {
			p.set("cpus", fmt.Sprint(part.cpus))
		}
		if part.memory != "" {
			p.set("memory", literal(size(part.memory)))
		}
		p.close()
	}
}

// size is a size of Docker's as the language writes it: "16g" and "16gb" as "16GiB".
func size(text string) string {
	m := memoryLimit.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	switch {
	case m == nil:
		return text
	case m[2] == "" || m[2] == "b":
		return m[1] + "B"
	}
	return m[1] + strings.ToUpper(m[2]) + "iB"
}

// printer writes blocks.
type printer struct {
	b     *strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.b, strings.Repeat("  ", p.depth)+format+"\n", args...)
}

func (p *printer) open(format string, args ...any) {
	p.line(format+" {", args...)
	p.depth++
}

func (p *printer) set(name, value string) { p.line("%s = %s", name, value) }

func (p *printer) close() {
	p.depth--
	p.line("}")
}

func list(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = literal(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// literal is a text in which nothing is put in.
func literal(text string) string {
	return `"` + strings.NewReplacer(
		`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{",
	).Replace(text) + `"`
}

// span writes a duration in its largest unit.
func span(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}} {
		if d > 0 && d%unit.of == 0 {
			return fmt.Sprintf(`"%d%s"`, d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf(`"%ds"`, d/time.Second)
}
