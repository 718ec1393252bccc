package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

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
		Path: b.data("path"),
		URL:  b.checked("url", "", b.f.checkDataset), Ref: b.text("ref", ""),
		Dataset: b.text("dataset", ""), Revision: b.text("revision", ""),
		Include: b.globs("include", []string{"*"}), Exclude: b.globs("exclude", nil),
		Image: b.checked("image", "python:3.12-slim", checkImage), Decoys: b.wantsDecoys(),
	}
	b.exclusive("path", "url", "dataset")
	if !b.has("url") && !b.has("dataset") {
		b.need("path")
	}
	b.together("ref", "url")
	b.together("revision", "dataset")
	b.close()
	if out.Remote() || out.Path != "" {
		b.f.take(&out)
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
	out.Judge = b.judge(out.Work, len(out.FailToPass)+len(out.PassToPass) > 0, out.Solution != nil)
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
	case !b.has("base") && !b.has("image") && !b.misspelt("base", "image") && (task.Work.Image == "" || task.Judge.Image == ""):
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
			check := checkTarget
			if b.f.o.Target != nil {
				check = b.f.o.Target
			}
			allow, err := toCheckedList(v, check)
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
	out := &Repo{URL: repo.checked("url", "", repo.f.checkRepository), Commit: repo.checked("commit", "", checkCommit)}
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

// fullHash is a commit's name in full; anything shorter may mean another commit tomorrow.
var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// checkRef refuses what Git would take for something else than a branch, a tag or a commit.
func checkRef(s string) error {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \n~^:") || strings.Contains(s, "..") {
		return fmt.Errorf("%q is no branch, tag or commit", s)
	}
	return nil
}

func checkCommit(s string) error {
	if !fullHash.MatchString(s) {
		return fmt.Errorf("%q is not the whole name of a commit: write the 40 characters that git rev-parse prints", s)
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
