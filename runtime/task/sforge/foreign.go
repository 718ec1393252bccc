package sforge

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// maxTree bounds a folder that becomes a part of a file.
const maxTree = 2 << 20

// foreign says what commands make the images of a task that came from elsewhere.
type foreign struct {
	t     task.Task
	trees map[string]string // digest -> tar in base64
}

// asForeign writes a task that came from elsewhere, with a note.
func asForeign(t task.Task, name string, trees task.Trees) (d sheet, why string, err error) {
	if why := cannot(t); why != "" {
		return d, why, nil
	}
	f := foreign{t: t, trees: map[string]string{}}
	for _, tree := range treesOf(&t) {
		if why, err := f.load(*tree, trees); why != "" || err != nil {
			return d, why, err
		}
	}
	d = common(t)
	d.Name, d.Platform = cmp.Or(t.Title, t.Name), cmp.Or(t.Platform, "linux/amd64")
	for i, p := range d.Exclude {
		d.Exclude[i] = strings.TrimRight(p, "/")
	}
	d.Base, d.base = "image", baseImage{Image: cmp.Or(t.Work.Image, t.Image), Packages: []string{}}
	if t.Base != nil && t.Work.Image == "" {
		d.Base, d.base = t.Base.Name, baseOf(*t.Base)
	} else {
		d.Base += "-" + folder.Sum([]byte(d.base.Image))[:8]
	}
	work := append(f.clone(), f.part(t.Work, nil)...)
	d.Work.Setup = work
	d.Judge.Setup = f.part(t.Judge.Part, t.Judge.Patch)
	if !t.Judge.FromBase {
		d.Judge.Setup = slices.Concat(work, d.Judge.Setup)
	}
	d.Judge.Eval, d.Judge.Parser = evaluation(t)
	if _, known := anchors()[kindOf(t.Judge.Rescale)]; !known {
		d.Judge.Rescale = nil
	}
	short := t
	short.Instruction = ""
	d.Note = &note{Note: folder.NewNote(short, map[string]string{}), Trees: f.trees}
	_, bench, err := benchmarkText(name, map[string]baseImage{d.Base: d.base})
	if err != nil {
		return d, err.Error(), nil
	}
	_, why = d.text(bench)
	return d, why, nil
}

func kindOf(r *task.Rescale) string {
	if r == nil {
		return ""
	}
	return r.Kind
}

// cannot says what the format cannot hold of a task.
func cannot(t task.Task) string {
	if why := folder.Beyond(t, "SForge"); why != "" {
		return why
	}
	work := cmp.Or(t.Work.Image, t.Image)
	switch {
	case t.Work.Dockerfile != "" || t.Judge.Dockerfile != "":
		return "is made by a Dockerfile of its own, which SForge does not build"
	case t.Judge.Image != "" && t.Judge.Image != work:
		return "is judged in an image of its own; in SForge both start from one base"
	case t.Judge.Game != "":
		return "is a game of another kind than those of SForge"
	}
	return ""
}

func (f *foreign) load(tree task.Tree, trees task.Trees) (why string, err error) {
	if tree.Digest == "" {
		return "", nil
	}
	r, err := trees.Open(tree)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxTree+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	if len(content) > maxTree {
		return fmt.Sprintf("has a folder of more than %d MiB, which would stand in a command", maxTree>>20), nil
	}
	f.trees[tree.Digest] = base64.StdEncoding.EncodeToString(content)
	return "", nil
}

// clone makes the repository as it was at the commit, and nothing of it later.
func (f *foreign) clone() []string {
	if f.t.Repo == nil {
		return nil
	}
	dir := dockerfile.Quote(f.t.Workdir)
	return []string{
		"git clone " + dockerfile.Quote(f.t.Repo.URL) + " " + dir, "cd " + dir,
		"git checkout -q -B main " + dockerfile.Quote(f.t.Repo.Commit), "git remote remove origin",
		"git for-each-ref --format='delete %(refname)' | { grep -v ' refs/heads/main$' || true; } | git update-ref --stdin",
		"git reflog expire --expire=now --all", "git gc -q --prune=now",
	}
}

// part does what the image of a part is made by, in our order.
func (f *foreign) part(p task.Part, patch []byte) []string {
	dir := dockerfile.Quote(f.t.Workdir)
	all := []string{"mkdir -p " + dir, "cd " + dir}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		all = append(all, "export "+name+"="+dockerfile.Quote(p.Env[name]))
	}
	if p.Context.Digest != "" {
		all = append(all, decoded(f.trees[p.Context.Digest])+" | tar -xf -")
	}
	for _, target := range slices.Sorted(maps.Keys(p.Files)) {
		to := dockerfile.Place(f.t.Workdir, target)
		all = append(all, "mkdir -p "+dockerfile.Quote(path.Dir(to)),
			decoded(base64.StdEncoding.EncodeToString([]byte(p.Files[target])))+" >"+dockerfile.Quote(to))
		if strings.HasPrefix(p.Files[target], "#!") {
			all = append(all, "chmod 755 "+dockerfile.Quote(to))
		}
	}
	if patch != nil {
		all = append(all, decoded(base64.StdEncoding.EncodeToString(patch))+" | git apply --whitespace=nowarn")
	}
	for _, command := range p.Setup {
		all = append(all, dockerfile.Run(command))
	}
	return all
}

// decoded is a command that writes what a text of base64 holds: a here-document, as the
// arguments of a command may not be that long.
func decoded(text string) string {
	return "{ base64 -d <<'END'\n" + text + "\nEND\n}"
}

// evaluation is the command that judges, and how its output is understood. What SForge has
// no parser for is told as pytest would tell it, by exit codes.
func evaluation(t task.Task) (command, parser string) {
	if !t.Judge.Command.Empty() {
		command = dockerfile.CommandText(t.Judge.Command)
		switch t.Judge.Parser {
		case "score_sum", "structured_json":
			return command, t.Judge.Parser
		case "pytest", "pytest_v":
			return command, "pytest_v"
		}
		return told(1, command), "pytest_v"
	}
	for i, c := range dockerfile.Commands(t) {
		command += told(i+1, dockerfile.Run(c)) + "\n"
	}
	return command, "pytest_v"
}

func told(n int, command string) string {
	return fmt.Sprintf("if ( %s\n); then echo 'judge::%d PASSED'; else echo 'judge::%d FAILED'; fi", command, n, n)
}
