package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task/sforge"
)

// writeRuns makes run blocks of the experiments that lie beside SForge's tasks.
func (i *imported) writeRuns(b *strings.Builder) {
	experiments, problems, notices := sforge.Experiments(i.Data)
	for _, p := range problems {
		i.Problems = append(i.Problems, asNotice(p))
	}
	for _, p := range notices {
		i.Notices = append(i.Notices, asNotice(p))
	}
	known := map[string]bool{}
	for _, t := range i.Tasks {
		known[t.Name] = true
	}
	for _, x := range experiments {
		for _, r := range x.Runs {
			for _, name := range r.Tasks {
				if !known[name] {
					i.Notices = append(i.Notices, importedNotice{File: x.File, Text: fmt.Sprintf("the run %s leaves out %q, which is not among the tasks", r.Name, name)})
				}
			}
			r.Tasks = slices.DeleteFunc(slices.Clone(r.Tasks), func(name string) bool { return !known[name] })
			if len(r.Tasks) == 0 {
				continue
			}
			if r.Engine != "" {
				i.Notices = append(i.Notices, importedNotice{File: x.File, Text: fmt.Sprintf("the run %s is done by this machine's engine instead of %s", r.Name, r.Engine)})
			}
			i.Runs = append(i.Runs, "run."+r.Name)
			i.writeRun(b, x, r)
		}
	}
}

// writeRun writes one run: what the experiment says and what is another default there.
func (i *imported) writeRun(b *strings.Builder, x sforge.Experiment, r sforge.Run) {
	fmt.Fprintf(b, "\n# %s\nrun %s {\n", oneLine(x.File), quoted(r.Name))
	line := func(name, value string) { fmt.Fprintf(b, "  %s = %s\n", name, value) }
	line("tasks", "[benchmark."+i.Benchmark+"]")
	var globs []string
	for _, name := range r.Tasks {
		globs = append(globs, quoted(globEscape(name)))
	}
	line("include", "["+strings.Join(globs, ", ")+"]")
	if r.Timeout > 0 {
		line("timeout", quoted(short(r.Timeout)))
	}
	if x.Stagger > 0 {
		line("stagger", quoted(short(x.Stagger)))
	}
	switch {
	case r.NoEval:
		line("auto_eval", `"0s"`)
	case r.Interval > 0:
		line("auto_eval", quoted(short(r.Interval)))
	}
	if r.NoStopHook {
		line("stop_hook", "false")
	}
	if r.Internet != nil {
		line("network", map[bool]string{true: `"open"`, false: `"none"`}[*r.Internet])
	}
	fmt.Fprintf(b, "  agent %s {", quoted(r.Agent))
	if r.Model != "" || r.Effort != "" || len(r.Env) > 0 {
		b.WriteString("\n")
	}
	for _, attribute := range [][2]string{{"model", r.Model}, {"effort", r.Effort}} {
		if attribute[1] != "" {
			fmt.Fprintf(b, "    %s = %s\n", attribute[0], quoted(attribute[1]))
		}
	}
	if len(r.Env) > 0 {
		b.WriteString("    env = {\n")
		for _, name := range slices.Sorted(maps.Keys(r.Env)) {
			fmt.Fprintf(b, "      %s = %s\n", quoted(name), quoted(r.Env[name]))
		}
		b.WriteString("    }\n")
	}
	b.WriteString("}\n")
	if r.NoResume {
		b.WriteString("  resume {\n    max = 0\n  }\n")
	}
	if r.Max > 0 || r.Cooldown > 0 {
		fmt.Fprintf(b, "  submissions {\n    max = %d\n    cooldown = %s\n  }\n", r.Max, quoted(short(r.Cooldown)))
	}
	resources(b, "work", r.WorkCPUs, r.WorkMemory)
	resources(b, "judge", r.JudgeCPUs, r.JudgeMemory)
	b.WriteString("}\n")
}

func resources(b *strings.Builder, role string, cpus int, memory string) {
	memory = size(memory)
	if cpus == 0 && memory == "" {
		return
	}
	fmt.Fprintf(b, "  %s {\n", role)
	if cpus > 0 {
		fmt.Fprintf(b, "    cpus = %d\n", cpus)
	}
	if memory != "" {
		fmt.Fprintf(b, "    memory = %s\n", quoted(memory))
	}
	b.WriteString("  }\n")
}

var dockerSize = regexp.MustCompile(`^([0-9]+)([kmgt])(i?b)?$`)

// size is a size of Docker's as the language writes it, "16g" as "16GiB".
func size(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if m := dockerSize.FindStringSubmatch(text); m != nil {
		return m[1] + strings.ToUpper(m[2]) + "iB"
	}
	return text
}

// short is a duration without the zeros at its end: "12h" for "12h0m0s".
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// globEscape is a pattern that nothing but the name matches.
func globEscape(name string) string {
	return regexp.MustCompile(`[*?\[\]{}\\]`).ReplaceAllString(name, `\$0`)
}
