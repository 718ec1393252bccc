package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

func (b labelled) benchmark(head Block) Benchmark {
	out := Benchmark{Block: head, Description: b.text("description", "")}
	for _, block := range b.many("import") {
		out.Imports = append(out.Imports, block.dataset())
	}
	bases := b.many("base")
	b.f.unique(bases, "base")
	for _, block := range bases {
		out.Bases = append(out.Bases, block.base())
	}
	tasks := b.many("task")
	b.f.unique(tasks, "task")
	for _, block := range tasks {
		task := block.task()
		block.checkBase(task, out.Bases)
		out.Tasks = append(out.Tasks, task)
	}
	return out
}

func (b labelled) dataset() Import {
	b.f.checkWord(b, "format", formats())
	out := Import{
		Format: b.label, Place: b.place,
		Path: b.folder("path"),
		URL:  b.checked("url", "", notEmpty), Ref: b.text("ref", ""),
		Dataset: b.text("dataset", ""), Revision: b.text("revision", ""),
		Include: b.globs("include", []string{"*"}), Exclude: b.globs("exclude", nil),
		Image: b.checked("image", "python:3.12-slim", checkImage),
	}
	b.exclusive("path", "url", "dataset")
	if !b.has("url") && !b.has("dataset") {
		b.need("path")
	}
	b.together("ref", "url")
	b.together("revision", "dataset")
	b.close()
	if out.Path != "" && b.f.o.Import != nil {
		out.Tasks, out.Problems = b.f.o.Import(out)
	}
	return out
}

func formats() []string {
	return []string{"sforge", "harbor", "swebench", "sweforge", "terminal-bench"}
}

// checkWord reports a label that is none of the words.
func (f *file) checkWord(b labelled, what string, words []string) {
	if _, err := oneOf(words)(b.label); err != nil {
		f.fail(b.rng, "Unknown "+what, sentence(err))
	}
}

// together reports an attribute that means nothing without another.
func (b *body) together(name, with string) {
	if b.has(name) && !b.has(with) {
		b.f.fail(b.where(name), fmt.Sprintf("%q without %q", name, with), fmt.Sprintf("%q says more about %q, which is missing.", name, with))
	}
}

func (b labelled) base() Base {
	b.need("image")
	out := Base{
		Name: b.label, Place: b.place,
		Image:         b.checked("image", "", checkImage),
		Packages:      b.checkedList("packages", nil, checkPackage),
		PipPackages:   b.checkedList("pip_packages", nil, notEmpty),
		UserDirective: b.text("user_directive", ""),
		PostInstall:   b.text("post_install_directive", ""),
	}
	b.close()
	return out
}

// checkPackage keeps options and shell text out of the line that installs packages.
func checkPackage(s string) error {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\r\n;&|$`\"'\\<>()") {
		return fmt.Errorf("%q is no package name", s)
	}
	return nil
}

func (b labelled) task() Task {
	b.need("instruction")
	b.need("judge")
	out := Task{
		Name: b.label, Place: b.place,
		Title:       b.text("title", b.label),
		Base:        b.text("base", ""),
		Image:       b.checked("image", "", checkImage),
		Platform:    b.checked("platform", "", checkPlatform),
		Workdir:     path.Clean(b.checked("workdir", "/workspace", checkWorkdir)),
		Instruction: b.checked("instruction", "", notEmpty),
		Network:     b.network(Network{Mode: "none"}),
		Repo:        b.repo(),
		Submit:      b.submit(),
		Private:     b.private(),
		Solution:    b.solution(),
		FailToPass:  b.checkedList("fail_to_pass", nil, notEmpty),
		PassToPass:  b.checkedList("pass_to_pass", nil, notEmpty),
		Metadata:    b.pairs("metadata", anything),
	}
	work, _ := b.one("work")
	out.Work = work.part(Part{Resources: Resources{CPUs: 1, Memory: 2 << 30, PIDs: 512, Disk: 10 << 30}})
	work.close()
	out.Judge = b.judge(out.Work)
	if out.Private != nil && out.Judge.Game != "" {
		b.f.fail(b.where("private"), "Private set of a game", "A private set judges an archive, and a game has none.")
	}
	b.close()
	return out
}

// checkBase reports a task whose image nothing is known of.
func (b labelled) checkBase(task Task, bases []Base) {
	b.exclusive("base", "image")
	names := make([]string, len(bases))
	for i, base := range bases {
		names[i] = base.Name
	}
	switch {
	case task.Base != "" && !slices.Contains(names, task.Base):
		b.f.fail(b.syntax.Attributes["base"].Expr.Range(), "Unknown base", fmt.Sprintf("The benchmark has no base %q%s", task.Base, suggest(task.Base, names)))
	case !b.has("base") && !b.has("image") && (task.Work.Image == "" || task.Judge.Image == ""):
		b.f.fail(b.header, "Missing image", `A task needs "base" or "image", unless both work and judge name an "image".`)
	}
}

func checkPlatform(s string) error {
	if !platformName.MatchString(s) {
		return fmt.Errorf(`%q is no platform: write system/architecture, as in "linux/amd64"`, s)
	}
	return nil
}

func checkWorkdir(s string) error {
	if !path.IsAbs(s) || path.Clean(s) == "/" || strings.ContainsAny(s, ":\n") {
		return fmt.Errorf("%q is no absolute path below /", s)
	}
	return nil
}

// network reads "none", "open" or a list of targets.
func (b *body) network(value Network) Network {
	return read(b, "network", value, func(v cty.Value) (Network, error) {
		if isList(v) {
			allow, err := toCheckedList(v, checkTarget)
			return Network{Mode: "allow", Allow: allow}, err
		}
		mode, err := viaText(v, oneOf([]string{"none", "open"}))
		if err != nil {
			err = fmt.Errorf("%s Or write a list of host:port", sentence(err))
		}
		return Network{Mode: mode}, err
	})
}

func (b *body) repo() *Repo {
	repo, ok := b.one("repo")
	repo.need("url")
	repo.need("commit")
	out := &Repo{URL: repo.checked("url", "", checkURL), Commit: repo.checked("commit", "", checkCommit)}
	repo.close()
	if !ok {
		return nil
	}
	return out
}

func checkURL(s string) error {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \n") {
		return fmt.Errorf("%q is no address", s)
	}
	return nil
}

func checkCommit(s string) error {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \n~^:") || strings.Contains(s, "..") {
		return fmt.Errorf("%q is no commit", s)
	}
	return nil
}

func (b *body) submit() Submit {
	submit, _ := b.one("submit")
	out := Submit{
		Paths:    submit.checkedList("paths", []string{"."}, checkLocal),
		Exclude:  submit.globs("exclude", []string{"tests/"}),
		MaxBytes: submit.size("max_bytes", 1<<30),
		MaxFiles: submit.whole("max_files", 100_000, 1),
	}
	if len(out.Paths) == 0 {
		submit.f.fail(submit.where("paths"), `Invalid value for "paths"`, "Nothing could be submitted.")
	}
	submit.close()
	return out
}

// checkLocal accepts a path that stays in the workdir.
func checkLocal(s string) error {
	if s == "" || path.IsAbs(s) || path.Clean(s) == ".." || strings.HasPrefix(path.Clean(s), "../") {
		return fmt.Errorf("%q does not stay in the workdir", s)
	}
	return nil
}

// checkFile accepts a target of files: absolute, or below the workdir.
func checkFile(s string) error {
	if path.IsAbs(s) && path.Clean(s) != "/" {
		return nil
	}
	if path.Clean(s) == "." {
		return errors.New("is no file")
	}
	return checkLocal(s)
}

// part reads what work and judge have in common.
func (b *body) part(value Part) Part {
	return Part{
		Image:     b.checked("image", value.Image, checkImage),
		Context:   b.tree("context"),
		Files:     b.pairs("files", checkFile),
		Setup:     b.checkedList("setup", nil, notEmpty),
		User:      b.text("user", value.User),
		Env:       read(b, "env", value.Env, func(v cty.Value) (map[string]string, error) { return toPairs(v, checkEnvName) }),
		Resources: b.resources(value.Resources),
	}
}

func (b *body) resources(value Resources) Resources {
	return Resources{
		CPUs:   b.number("cpus", value.CPUs, 0.01, 100_000),
		Memory: b.size("memory", value.Memory),
		PIDs:   int64(b.whole("pids", int(value.PIDs), 1)),
		Disk:   b.size("disk", value.Disk),
	}
}

// judge reads the judge, whose user, environment and resources are the work container's
// where it does not say otherwise.
func (b *body) judge(work Part) Judge {
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
		Game:      j.checked("game", "", notEmpty),
		Port:      j.whole("port", 8000, 1),
	}
	if out.Port > 65535 {
		j.f.fail(j.where("port"), `Invalid value for "port"`, "A port is at most 65535.")
	}
	out.Stages = j.stages(out.Timeout)
	j.together("port", "game")
	if !j.has("game") && !j.has("stage") {
		j.need("command")
	}
	for _, other := range []string{"stage", "command", "exclusive", "parser", "timeout", "expect", "protect", "direction", "feedback"} {
		j.exclusive("game", other)
	}
	if j.has("expect") && (out.Parser == "exit_code" || out.Parser == "reward") {
		j.f.fail(j.where("expect"), `"expect" without names`, fmt.Sprintf("The parser %q names no tests, so none of these would ever be seen.", out.Parser))
	}
	j.exclusive("stage", "command")
	j.close()
	return out
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

// stages reads the two halves of a judge; timeout is for those that name none.
func (b *body) stages(timeout time.Duration) []Stage {
	blocks := b.many("stage")
	b.f.unique(blocks, "stage")
	var out []Stage
	for _, s := range blocks {
		b.f.checkWord(s, "stage", []string{"run", "grade"})
		s.need("command")
		out = append(out, Stage{
			Name: s.label, Image: s.checked("image", "", checkImage), Context: s.tree("context"),
			Command: s.command("command", anything), Timeout: s.positive("timeout", timeout),
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

func (b *body) solution() *Solution {
	s, ok := b.one("solution")
	out := &Solution{
		Context: s.tree("context"),
		Patch:   read(s, "patch", nil, func(v cty.Value) ([]byte, error) { return viaText(v, s.f.fileBytes) }),
		Script:  s.checked("script", "", notEmpty),
	}
	s.exclusive("context", "patch", "script")
	if ok && !s.has("context") && !s.has("patch") && !s.has("script") {
		s.f.fail(s.header, "Empty solution", `A solution needs "context", "patch" or "script".`)
	}
	s.close()
	if !ok {
		return nil
	}
	return out
}
