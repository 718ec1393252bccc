package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

// No name and no link of a stranger's folder leads out of it.
func TestAFolderIsNotLeft(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.MkdirAll(secret, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "x"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := tasktest.Folder(t, map[string]string{"file": "->" + secret + "/x", "dir": "->" + secret, "in/dir": "->" + secret, "in/a": "a", "alias": "->in"})
	r, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"file", "dir/x", "../x", "in/dir/x"} {
		if text, err := r.Read(name, 100); err == nil {
			t.Errorf("%s reads %q", name, text)
		}
	}
	trees := &tasktest.Trees{}
	for _, name := range []string{"dir", "in/dir", "alias"} {
		if tree, err := r.Keep(name, trees); err != nil || tree.Digest != "" {
			t.Errorf("%s is kept as %v, %v", name, tree, err)
		}
	}
	tree, err := r.Gather([]folder.Piece{{From: "in", To: "other"}}, trees)
	if names := strings.Join(trees.Names(t, tree), " "); err != nil || names != "other/ other/a other/dir" {
		t.Errorf("kept as %q, %v", names, err)
	}
}

func TestTextsAreUTF8(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*task.Task)
		want   string
	}{
		"an instruction": {func(tk *task.Task) { tk.Instruction = "a\xff" }, "Instruction is no UTF-8"},
		"a hidden file":  {func(tk *task.Task) { tk.Judge.Files = map[string]string{"a": "b", "c.txt": "\xe9"} }, `Judge.Part.Files["c.txt"] is no UTF-8`},
		"its name":       {func(tk *task.Task) { tk.Metadata = map[string]string{"\xff": ""} }, "Metadata is no UTF-8"},
		"a test":         {func(tk *task.Task) { tk.FailToPass = []string{"a", "\xff"} }, "FailToPass is no UTF-8"},
		"a solution":     {func(tk *task.Task) { tk.Solution = &task.Solution{Script: "\xff"} }, "Solution.Script is no UTF-8"},
		"a patch":        {func(tk *task.Task) { tk.Judge.Patch = []byte("\xff") }, ""},
		"é":              {func(tk *task.Task) { tk.Instruction = "é\ufffd" }, ""},
	} {
		tk := tasktest.Commands()
		c.change(&tk)
		got := ""
		if err := folder.Check(tk); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNoTreeIsWrittenOutsideOfItsFolder(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	outside := t.TempDir()
	tree := trees.Of(t, map[string]string{"a": "->" + outside, "b/c": "x"})
	w, err := folder.Create(filepath.Join(t.TempDir(), "new"))
	if err != nil {
		t.Fatal(err)
	}
	w.Tree("t", tree, trees)
	w.File("t/a/stolen", "x") // through the link
	if err := w.Close(); err == nil {
		t.Error("a link was followed")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

func TestAFolderThatHoldsSomethingIsNotOverwritten(t *testing.T) {
	t.Parallel()
	if _, err := folder.Create(tasktest.Folder(t, map[string]string{"a": "a"})); err == nil {
		t.Error("it is taken")
	}
}

// A note of strangers must not give an image a name that another image has.
func TestANoteNamesNoImages(t *testing.T) {
	t.Parallel()
	named := tasktest.Scored()
	named.Work.Ref, named.Judge.Ref, named.Base = "python:3.12", "python:3.13", &task.Base{Ref: "debian:12"}
	text := folder.Note{Task: named}.String()
	note, err := folder.ParseNote(text, named.Name)
	if err != nil || note.Task.Work.Ref+note.Task.Judge.Ref+note.Task.Base.Ref != "" {
		t.Errorf("%v: %+v", err, note.Task)
	}
}

func FuzzParseNote(f *testing.F) {
	f.Add(folder.NewNote(tasktest.Repository(), map[string]string{"a": "b"}).String(), "owner__repo-7")
	f.Fuzz(func(t *testing.T, text, name string) {
		note, err := folder.ParseNote(text, name)
		if err == nil && (folder.Check(note.Task) != nil || note.Task.Work.Ref != "") {
			t.Errorf("accepted as %+v", note)
		}
	})
}

// Who writes a note is not who runs it.
func TestANoteReachesNothingOfThisMachine(t *testing.T) {
	sound := task.Task{Name: "one", Workdir: "/w", Network: task.Network{Mode: "none"}, Submit: task.Submit{Paths: []string{"."}}}
	for name, c := range map[string]struct {
		change func(*task.Task)
		text   bool
		says   string
	}{
		"a sound one":              {func(*task.Task) {}, true, ""},
		"a repository elsewhere":   {func(t *task.Task) { t.Repo = &task.Repo{URL: "https://host/a/b"} }, true, ""},
		"one by ssh":               {func(t *task.Task) { t.Repo = &task.Repo{URL: "git@host:a/b"} }, true, ""},
		"one of this machine":      {func(t *task.Task) { t.Repo = &task.Repo{URL: "file:///home/me/secret"} }, false, "none of a remote machine"},
		"one by its path":          {func(t *task.Task) { t.Repo = &task.Repo{URL: "/home/me/secret"} }, false, "none of a remote machine"},
		"somebody's folder":        {func(t *task.Task) { t.Work.Context.Digest = "0123" }, true, "names folders"},
		"somebody's hidden folder": {func(t *task.Task) { t.Solution = &task.Solution{Context: task.Tree{Digest: "0123"}} }, true, "names folders"},
		"a folder that comes too":  {func(t *task.Task) { t.Work.Context.Digest = "0123" }, false, ""},
	} {
		noted := sound
		c.change(&noted)
		err := folder.CheckNote(noted, c.text)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
