package dockerfile

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// aside is the folder of a build context for what is not the context of the task's own
// Dockerfile.
const aside = ".assayd"

// Work writes the build context of the image that agents work in: dir/Dockerfile and what
// that copies.
func Work(w *folder.Writer, dir string, t task.Task, trees task.Trees) {
	c := context{Writer: w, dir: dir, trees: trees}
	if t.Work.Dockerfile == "" {
		c.from(t, t.Work.Image)
	}
	if t.Repo != nil {
		c.repo = t.Repo
	}
	c.part(t, t.Work, nil)
	w.Made(path.Join(dir, "Dockerfile"), c.text.String())
}

// Judge writes the build context of the image that submissions are judged in, which must not
// be one that is made from the work image: OnWork tells. Last come lines of the caller.
func Judge(w *folder.Writer, dir string, t task.Task, trees task.Trees, last ...string) {
	c := context{Writer: w, dir: dir, trees: trees}
	if t.Judge.Dockerfile == "" {
		c.from(t, t.Judge.Image)
	}
	c.part(t, t.Judge.Part, t.Judge.Patch)
	for _, line := range last {
		c.line("%s", line)
	}
	w.Made(path.Join(dir, "Dockerfile"), c.text.String())
}

// OnWork reports whether a task is judged in its work image, with things added.
func OnWork(t task.Task) bool {
	return t.Judge.Image == "" && !t.Judge.FromBase && t.Judge.Dockerfile == ""
}

// context is one Dockerfile under way.
type context struct {
	*folder.Writer
	dir   string
	trees task.Trees
	text  strings.Builder
	repo  *task.Repo
}

func (c *context) line(format string, args ...any) {
	fmt.Fprintf(&c.text, format+"\n", args...)
}

// from begins with the image that a part names, or with the base of the task.
func (c *context) from(t task.Task, image string) {
	platform := ""
	if t.Platform != "" {
		platform = "--platform=" + t.Platform + " "
	}
	switch {
	case image != "":
		c.line("FROM %s%s", platform, image)
	case t.Base != nil:
		c.line("FROM %s%s", platform, t.Base.Image)
		c.base(*t.Base)
	default:
		c.line("FROM %s%s", platform, t.Image)
	}
}

func (c *context) base(b task.Base) {
	if text := strings.TrimSpace(b.User); text != "" {
		c.line("%s", text)
	}
	if len(b.Packages) > 0 {
		c.line("RUN apt-get update && apt-get install -y --no-install-recommends %s && apt-get clean", words(b.Packages))
	}
	if len(b.PipPackages) > 0 {
		c.line("RUN python3 -m pip install --no-cache-dir %s", words(b.PipPackages))
	}
	if text := strings.TrimSpace(b.PostInstall); text != "" {
		c.line("%s", text)
	}
}

// part does what package image does, in its order.
func (c *context) part(t task.Task, p task.Part, patch []byte) {
	if p.Dockerfile != "" {
		c.line("%s", strings.TrimRight(p.Dockerfile, "\n"))
		c.Tree(c.dir, p.Context, c.trees)
	}
	if p.User != "" && (len(p.Setup)+len(p.Files) > 0 || patch != nil) {
		c.line("USER root")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		c.line("ENV %s=%s", name, quoted(p.Env[name]))
	}
	if !p.AtHome {
		c.line("WORKDIR %s", t.Workdir)
	}
	if c.repo != nil {
		repo := *c.repo
		c.Stream(path.Join(c.dir, aside, "repo.tar"), func() (io.ReadCloser, error) { return c.trees.Clone(repo) })
		c.line("ADD %s/repo.tar %s/", aside, t.Workdir)
	}
	if p.Dockerfile == "" && p.Context.Digest != "" {
		c.Tree(path.Join(c.dir, aside, "context"), p.Context, c.trees)
		c.line("COPY %s/context/ %s/", aside, t.Workdir)
	}
	for i, target := range slices.Sorted(maps.Keys(p.Files)) {
		name := fmt.Sprintf("%s/files/%03d", aside, i)
		c.Made(path.Join(c.dir, name), p.Files[target])
		c.line("COPY %s", argv(name, Place(t.Workdir, target)))
	}
	if patch != nil {
		c.Made(path.Join(c.dir, aside, "hidden.patch"), string(patch))
		c.line("COPY %s/hidden.patch /tmp/hidden.patch", aside)
		c.line("RUN git apply --whitespace=nowarn /tmp/hidden.patch && rm /tmp/hidden.patch")
	}
	for _, command := range p.Setup {
		c.line("RUN %s", argv("/bin/sh", "-c", command))
	}
	if p.AtHome {
		c.line("WORKDIR %s", t.Workdir)
	}
	if p.User != "" {
		c.line("USER %s", p.User)
	}
}

// Place is the path of a file that a part names relative to workdir, or absolute.
func Place(workdir, target string) string {
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(workdir, target)
}

// argv is an instruction's argument as JSON, in which no shell and no variable is meant.
func argv(words ...string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(words); err != nil {
		panic(err) // texts always encode
	}
	return strings.TrimSpace(b.String())
}

// quoted is a value as ENV takes it.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`).Replace(value) + `"`
}

func words(list []string) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = Quote(w)
	}
	return strings.Join(out, " ")
}

// Quote makes one word for a shell.
func Quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./=:,@%+", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// CommandText is a command as one line for a shell.
func CommandText(c task.Command) string {
	if c.Shell != "" && !c.Bash {
		return c.Shell
	}
	return words(c.Args())
}

// Commands are those of a task's lists, each as one line for a shell.
func Commands(t task.Task) []string {
	all := slices.Concat(t.FailToPass, t.PassToPass)
	for i, command := range all {
		all[i] = CommandText(task.Command{Shell: command, Bash: t.Judge.Command.Bash})
	}
	return all
}
