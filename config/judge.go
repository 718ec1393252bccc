package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// judge reads the judge, whose user, environment and resources are the work container's
// where it does not say otherwise. It needs no command where the task lists tests that can be
// commands themselves, and has decoys only where the task has a solution.
func (b *body) judge(work Part, listed, solved bool) Judge {
	j, _ := b.one("judge")
	out := Judge{
		Part:      j.part(Part{User: work.User, Env: work.Env, Resources: work.Resources}),
		Command:   j.command("command", anything),
		Timeout:   j.positive("timeout", 10*time.Minute),
		Parser:    j.choice("parser", "exit_code", j.f.parsers()...),
		Select:    j.choice("select", "pass_rate_first", "pass_rate_first", "score_first", "valid_then_score"),
		Direction: j.choice("direction", "maximize", "maximize", "minimize"),
		Rescale:   j.rescale(),
		Feedback:  j.choice("feedback", "names", "none", "score", "names", "full"),
		Protect:   j.globs("protect", nil),
		Expect:    read(j, "expect", nil, toNames),
		Network:   j.boolean("network", false),
		Exclusive: j.boolean("exclusive", false),
		Decoys:    j.decoys(),
		Game:      j.checked("game", "", notEmpty),
		Port:      j.whole("port", 8000, 1),
	}
	if out.Port > 65535 {
		j.f.fail(j.where("port"), `Invalid value for "port"`, "A port is at most 65535.")
	}
	out.Stages = j.stages(out)
	j.together("port", "game")
	if !j.has("game") && !j.has("stage") && (!listed || out.Parser != "exit_code") {
		j.need("command")
	}
	for _, other := range []string{"stage", "command", "exclusive", "parser", "timeout", "expect", "protect", "direction", "feedback", "decoys"} {
		j.exclusive("game", other)
	}
	if j.has("expect") && (out.Parser == "exit_code" || out.Parser == "reward") {
		j.f.fail(j.where("expect"), `"expect" without names`, fmt.Sprintf("The parser %q names no tests, so none of these would ever be seen.", out.Parser))
	}
	j.exclusive("stage", "command")
	j.exclusive("stage", "decoys")
	if d := out.Decoys; d != nil && *d > 0 && !solved {
		j.f.fail(j.where("decoys"), "Decoys without a solution", "Changed tests are tried with the solution of the task before anything is held against an agent, and there is none.")
	}
	j.close()
	return out
}

// Bounds of mixed runs: in fewer than four no test is changed twice.
const (
	leastDecoys = 4
	mostDecoys  = 16
)

// decoys reads how many mixed runs there are; nil = it is not said.
func (b *body) decoys() *int {
	if !b.has("decoys") {
		return nil
	}
	return new(read(b, "decoys", 0, func(v cty.Value) (int, error) {
		n, err := toWhole(v, 0)
		if err == nil && n != 0 && (n < leastDecoys || n > mostDecoys || n%2 != 0) {
			err = fmt.Errorf("must be 0 (none) or an even number from %d to %d: runs come in pairs that complement each other", leastDecoys, mostDecoys)
		}
		return n, err
	}))
}

// wantsDecoys is decoys for tasks that are many: without a word they have none.
func (b *body) wantsDecoys() int {
	if n := b.decoys(); n != nil {
		return *n
	}
	return 0
}

// toNames reads test names: a list, or a text with one a line.
func toNames(v cty.Value) ([]string, error) {
	if isList(v) {
		return toCheckedList(v, notEmpty)
	}
	s, err := toText(v)
	if err != nil {
		return nil, errors.New("write a list of test names or a text with one a line")
	}
	names := []string{}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	return names, nil
}

// positive reads a duration that is not zero.
func (b *body) positive(name string, value time.Duration) time.Duration {
	return read(b, name, value, func(v cty.Value) (time.Duration, error) {
		d, err := toDuration(v)
		if err == nil && d == 0 {
			err = errors.New("must be more than 0")
		}
		return d, err
	})
}

// anchors returns what each kind of rescaling needs.
func anchors() map[string][]string {
	expert, unit := []string{"baseline", "expert"}, []string{"anchor_raw", "anchor_score"}
	pieces := []string{"baseline", "rank30", "rank1", "super_anchor"}
	return map[string][]string{
		"linear": {"lower", "upper"}, "min_linear": expert, "min_linear_positive": expert, "min_inverse_anchor": unit,
		"compression_ratio_cropped_guarded": expert, "log_anchor": unit, "log_max": expert,
		"log1p_max": {"baseline", "upper"}, "log_min": expert,
		"piecewise_max": pieces, "piecewise_min": pieces, "piecewise_log_min": pieces,
	}
}

func (b *body) rescale() *Rescale {
	r, ok := b.one("rescale")
	if !ok {
		return nil
	}
	r.need("kind")
	out := &Rescale{Kind: r.choice("kind", "", sortedKeys(anchors())...), Anchors: map[string]float64{}}
	for _, name := range anchors()[out.Kind] {
		r.need(name)
		value := r.number(name, 0, -1e300, 1e300)
		for _, other := range anchors()[out.Kind] {
			if was, ok := out.Anchors[other]; ok && was == value && r.has(name) && !strings.HasPrefix(name, "anchor_") {
				r.f.fail(r.where(name), "Equal anchors", fmt.Sprintf("%q is the same as %q, so that no score lies between them.", name, other))
			}
		}
		out.Anchors[name] = value
	}
	if out.Kind != "" {
		r.close()
	}
	return out
}

// stages reads the two halves of a judge, which has a timeout for those that name none.
func (b *body) stages(of Judge) []Stage {
	blocks := b.many("stage")
	b.f.unique(blocks, "stage")
	var out []Stage
	for _, s := range blocks {
		b.f.checkWord(s, "stage", []string{"run", "grade"})
		s.need("command")
		out = append(out, Stage{
			Name: s.label, Image: s.checked("image", "", checkImage), Context: s.tree("context"),
			Command: s.command("command", anything), Timeout: s.positive("timeout", of.Timeout),
			Outputs: s.checkedList("outputs", nil, checkLocal),
		})
		switch {
		case s.label == "run" && len(out[len(out)-1].Outputs) == 0:
			s.f.fail(s.header, `Missing "outputs"`, "Without outputs of the run there is nothing to grade.")
		case s.label == "grade" && s.has("outputs"):
			s.f.fail(s.where("outputs"), "Outputs of the grade stage", "Only the run stage has outputs; grading ends with the verdict.")
		}
		s.close()
	}
	b.checkOutputs(out, blocks, of)
	if len(blocks) == 1 {
		b.f.fail(blocks[0].header, "Half a judge", `A judge in stages has both stage "run" and stage "grade".`)
	}
	return out
}

func (b *body) private() *Private {
	p, ok := b.one("private")
	p.need("command")
	out := &Private{Context: p.tree("context"), Command: p.command("command", anything), Timeout: p.positive("timeout", 10*time.Minute)}
	p.close()
	if !ok {
		return nil
	}
	return out
}
