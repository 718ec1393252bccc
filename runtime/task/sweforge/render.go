package sweforge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/runner"
)

// newWorkspace writes a task as a workspace, or says what of it no workspace can hold.
func newWorkspace(t task.Task) (workspace, []string) {
	t = folder.Unnamed(t)
	if problems := beyond(t); len(problems) > 0 {
		return workspace{}, problems
	}
	w, err := plainWorkspace(t)
	if err != nil {
		return workspace{}, []string{err.Error()}
	}
	o := task.ReadOptions{Image: t.Image}
	if reflect.DeepEqual(w.task(o, &folder.Findings{}), t) {
		return w, nil
	}
	w.Assayd = w.note(t)
	if again, err := w.noted(o); err != nil {
		return workspace{}, []string{err.Error()}
	} else if !reflect.DeepEqual(again, t) {
		return workspace{}, []string{"it holds text that is no UTF-8"}
	}
	return w, nil
}

// beyond says what a workspace cannot hold of a task.
func beyond(t task.Task) (problems []string) {
	j, none := t.Judge, task.Tree{}
	for _, c := range []struct {
		yes  bool
		text string
	}{
		{t.Repo == nil, "it is not made of a repository"},
		{t.Repo != nil && !repoName.MatchString(repoOf(t.Repo.URL)), "the address of its repository does not end in owner/name"},
		{t.Work.Context != none || j.Context != none || t.Solution != nil && t.Solution.Context != none, "it has folders of files; a workspace holds text only"},
		{t.Work.Dockerfile+j.Dockerfile != "", "it has a Dockerfile with a build context"},
		{t.Work.Image+j.Image != "" || j.FromBase, "it is judged in an image of its own; swe-forge judges where the agent worked"},
		{t.Private != nil, "it has a private set"},
		{j.Game != "", "it is a game"},
		{j.Staged(), "it is judged in stages"},
		{len(t.FailToPass) == 0, "it names no test that has to be made to pass"},
		{t.Instruction == "", "it has no instruction"},
		{t.Solution != nil && len(t.Solution.Patch) == 0, "its reference solution is no patch"},
	} {
		if c.yes {
			problems = append(problems, c.text)
		}
	}
	return problems
}

// plainWorkspace fills the keys that swe-forge knows, and those that name tests.
func plainWorkspace(t task.Task) (workspace, error) {
	w := workspace{
		ID: t.Name, Repo: repoOf(t.Repo.URL), BaseCommit: t.Repo.Commit, Image: t.Image, Prompt: t.Instruction,
		TestPatch: string(t.Judge.Patch), FailToPass: t.FailToPass, PassToPass: t.PassToPass,
	}
	if t.Metadata[imageKey] == fromImport {
		w.Image = ""
	}
	w.fill(t.Metadata)
	if id := t.Metadata["id"]; TaskName(id) == t.Name {
		w.ID = id
	}
	if t.Solution != nil {
		w.Patch = string(t.Solution.Patch)
	}
	setup := slices.DeleteFunc(slices.Clone(t.Work.Setup), func(command string) bool { return command == tools })
	for i, command := range setup {
		setup[i] = plain(command)
	}
	if len(setup) == 1 {
		w.InstallConfig["install"] = setup[0]
	} else if len(setup) > 1 {
		w.InstallConfig["install"] = "( " + strings.Join(setup, "\n) && ( ") + "\n)"
	}
	if err := w.testFiles(t); err != nil {
		return w, err
	}
	if t.Judge.Command.Empty() {
		return w, nil
	}
	w.FailToPassTests, w.PassToPassTests = t.FailToPass, t.PassToPass
	w.LogParser, w.TestCommand = t.Judge.Parser, commandLine(t.Judge.Command)
	return w, w.commands(t)
}

// commands makes those that swe-forge's harness runs of the names of tests.
func (w *workspace) commands(t task.Task) error {
	touched, err := runner.Files(t.Judge.Patch)
	if err != nil {
		return fmt.Errorf("its patch of tests: %w", err)
	}
	for name := range t.Judge.Files {
		touched = append(touched, name)
	}
	if slices.Contains([]string{"tap", "junit", "ctrf", "django"}, t.Judge.Parser) {
		// These name tests that no line of ours can choose: swe-forge gets all of them at once.
		w.FailToPass, w.PassToPass = []string{commandLine(t.Judge.Command)}, nil
		return nil
	}
	// A line runs all tests of a name, so that one of which one fails before is no line of those
	// that pass.
	fail := runner.Named(t.Judge.Parser, t.FailToPass, t.PassToPass)
	pass := slices.DeleteFunc(slices.Clone(runner.Named(t.Judge.Parser, t.PassToPass, t.FailToPass)), func(name string) bool {
		return slices.Contains(fail, name)
	})
	var ok bool
	if w.FailToPass, ok = runner.Exact(t.Judge.Parser, fail, touched); !ok {
		return fmt.Errorf("swe-forge runs a command for each test, and none is known for the tests of %s", t.Judge.Parser)
	}
	w.PassToPass, _ = runner.Exact(t.Judge.Parser, pass, touched)
	return nil
}

// testFiles are the hidden files that lie below the repository, others are not for swe-forge; and
// those that the patch of tests makes or changes, where the metadata has them.
func (w *workspace) testFiles(t task.Task) error {
	var files []testFile
	for _, name := range slices.Sorted(maps.Keys(t.Judge.Files)) {
		at := name
		if rest, ok := strings.CutPrefix(name, t.Workdir+"/"); ok {
			at = rest
		}
		if path.IsAbs(at) {
			return fmt.Errorf("its hidden file %s is outside of the repository", name)
		}
		files = append(files, testFile{at, t.Judge.Files[name]})
	}
	delete(w.Meta, testFiles)
	for _, file := range filesOf(t.Metadata[TestFilesKey]) {
		if _, there := t.Judge.Files[file.Path]; !there {
			files = append(files, file)
		}
	}
	if len(files) > 0 {
		w.Meta[testFiles] = filesText(files)
	}
	return nil
}

func commandLine(c task.Command) string {
	if c.Shell != "" {
		return c.Shell
	}
	return runner.Line(c.Argv)
}

// repoOf is owner/name of a repository's address.
func repoOf(url string) string {
	parts := strings.Split(strings.TrimSuffix(strings.Trim(url, "/"), ".git"), "/")
	return strings.Join(parts[max(len(parts)-2, 0):], "/")
}

// note is the text of key "assayd": the task without what stands under other keys, or is the
// import's.
func (w workspace) note(t task.Task) string {
	n := note{Task: t, Patched: len(t.Judge.Patch) > 0}
	n.Task.Instruction, n.Task.Solution = "", nil
	if len(t.PassToPass) > 0 { // the lists stand beside it
		n.Task.FailToPass, n.Task.PassToPass = nil, nil
	}
	if n.Patched {
		n.Task.Judge.Patch = nil
	}
	n.Task.Metadata = maps.Clone(t.Metadata)
	if text, ok := t.Metadata[TestFilesKey]; ok && text == filesText(w.patched()) {
		n.Files = folder.Sum([]byte(text))
		delete(n.Task.Metadata, TestFilesKey)
	}
	if t.Metadata[imageKey] == fromImport {
		n.Task.Image = ""
	}
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return string(text)
}

// note is what key "assayd" holds.
type note struct {
	Task    task.Task `json:"task"`
	Patched bool      `json:"test_patch,omitempty"`
	Files   string    `json:"test_files,omitempty"` // sum of those that the patch touches; "" = the metadata has none
}

// noted is the task of the note and of the keys beside it.
func (w workspace) noted(o task.ReadOptions) (task.Task, error) {
	var n note
	d := json.NewDecoder(strings.NewReader(w.Assayd))
	d.DisallowUnknownFields() // of a later version of ours: half of it would be another task
	if err := d.Decode(&n); err != nil {
		return task.Task{}, fmt.Errorf("it cannot be read: %w", err)
	}
	t := folder.Unnamed(n.Task)
	t.Instruction = w.Prompt
	if w.Patch != "" {
		t.Solution = &task.Solution{Patch: []byte(w.Patch)}
	}
	if n.Patched {
		t.Judge.Patch = []byte(w.TestPatch)
	}
	if n.Files != "" && t.Metadata != nil {
		t.Metadata[TestFilesKey] = filesText(w.patched())
		if folder.Sum([]byte(t.Metadata[TestFilesKey])) != n.Files {
			return task.Task{}, errors.New("the files of its tests were changed, and its patch of tests was not")
		}
	}
	if t.Metadata[imageKey] == fromImport {
		t.Image = o.Image
	}
	if len(t.FailToPass) == 0 {
		t.FailToPass, t.PassToPass = w.FailToPass, w.PassToPass
		if !t.Judge.Command.Empty() {
			t.FailToPass, t.PassToPass = w.FailToPassTests, w.PassToPassTests
		}
	}
	return t, folder.CheckNote(t, true)
}

// exact is the task of the note, if the other keys follow from it.
func (w workspace) exact(o task.ReadOptions) (task.Task, error) {
	t, err := w.noted(o)
	if err != nil {
		return task.Task{}, err
	}
	if problems := beyond(t); len(problems) > 0 {
		return task.Task{}, fmt.Errorf("it holds a task that no workspace can hold: %s", problems[0])
	}
	again, err := plainWorkspace(t)
	if err != nil {
		return task.Task{}, err
	}
	again.Assayd = w.Assayd
	if !reflect.DeepEqual(again.normal(), w.normal()) {
		return task.Task{}, errors.New("another key was changed")
	}
	return t, nil
}
