package sweforge

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/runner"
)

// Bounds of what is read.
const (
	maxTasks    = 100_000
	maxFile     = 4 << 20
	maxDataset  = 1 << 30
	maxCommands = 10_000
)

// What a workspace says nothing about.
const (
	workspaceFile = "workspace.yaml"
	workdir       = "/repo"
	timeout       = 2 * time.Minute // of each command
	github        = "https://github.com"
)

// tools installs what swe-forge's harness installs before anything else, where it is missing.
const tools = "if ! { command -v git && command -v curl && command -v cc && command -v make && command -v python3 && command -v pip3; } >/dev/null 2>&1 && command -v apt-get >/dev/null; then " +
	"apt-get update && apt-get install -y --no-install-recommends git curl ca-certificates build-essential python3 python3-pip python3-venv; fi; " +
	"command -v python >/dev/null || ln -s \"$(command -v python3)\" /usr/local/bin/python"

var (
	repoName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+$`)
	commitName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// Read reads every workspace.yaml of a folder, at any depth.
func Read(dir string, o task.ReadOptions) task.Dataset {
	src, err := folder.OpenSource(dir, maxDataset)
	if err != nil {
		return task.Dataset{Problems: []task.Problem{{Text: err.Error()}}}
	}
	defer src.Close()
	files, err := src.Find(workspaceFile)
	switch {
	case err != nil:
	case len(files) == 0:
		err = nothing(src)
	case len(files) > maxTasks:
		err = fmt.Errorf("holds more than %d workspaces", maxTasks)
	}
	if err != nil {
		return task.Dataset{Problems: []task.Problem{{Text: err.Error()}}}
	}
	var out task.Dataset
	seen := map[string]bool{}
	for _, file := range files {
		readWorkspace(src, file, o, seen, &out)
	}
	slices.SortFunc(out.Tasks, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// nothing says why there is no task.
func nothing(src *folder.Root) error {
	names, err := src.Names()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".parquet" }) {
		return errors.New("the parquet files of swe-forge hold neither the tests nor the packages to install; the folders of its tasks are needed")
	}
	return errors.New("holds no " + workspaceFile)
}

// readWorkspace adds the task of one file, or what is wrong with it.
func readWorkspace(src *folder.Root, file string, o task.ReadOptions, seen map[string]bool, out *task.Dataset) {
	say := folder.Findings{File: file}
	data, err := src.Read(file, maxFile)
	var w workspace
	if err == nil {
		w, err = parseWorkspace(data)
	}
	if err != nil {
		say.Problem("%v", err)
		say.Add(out, task.Task{})
		return
	}
	name := TaskName(w.ID)
	if o.Wanted != nil && name != "" && !o.Wanted(name) {
		return
	}
	say.Task = folder.Shown(name)
	if w.Prompt == "" {
		w.Prompt = promptFile(src, path.Dir(file), w.ID)
	}
	t := w.task(o, &say)
	if len(say.Problems) == 0 && seen[t.Name] {
		say.Problem("is there twice")
	}
	seen[t.Name] = true
	say.Add(out, t)
}

// promptFile is the text of prompt.md without the heading, which names the pull request.
func promptFile(src *folder.Root, dir, id string) string {
	data, err := src.Read(path.Join(dir, "prompt.md"), 1<<20)
	if err != nil {
		return ""
	}
	text := strings.TrimPrefix(string(data), "# "+id+"\n")
	return strings.TrimLeft(text, "\n")
}

// TaskName is the name of the task with an id, which is nested as folders are.
func TaskName(id string) string { return strings.ReplaceAll(id, "/", "__") }

// task turns a workspace into a task, and says what is lost. With a problem said it is of no
// use.
func (w workspace) task(o task.ReadOptions, say *folder.Findings) task.Task {
	if w.Assayd != "" {
		t, err := w.exact(o)
		if err == nil {
			return t
		}
		say.Notice("key %q is passed over: %v", "assayd", err)
	}
	t := task.Task{
		Name: TaskName(w.ID), Workdir: workdir, Network: task.Network{Mode: "none"}, Instruction: w.Prompt,
		Submit: folder.Submit("."), Image: o.Image, Work: folder.Limits(), FailToPass: w.FailToPass, PassToPass: w.PassToPass,
		Judge: task.Judge{
			Part: folder.Limits(), Timeout: timeout, Parser: "exit_code",
			Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
		},
		Metadata: w.metadata(),
	}
	if w.Image != "" {
		t.Image = w.Image
	}
	if !folder.TaskName.MatchString(t.Name) {
		say.Problem("%q is %q, which is no name for a task", "id", w.ID)
	}
	if w.Prompt == "" {
		say.Problem("%q is missing", "prompt")
	}
	w.clone(&t, o, say)
	w.install(&t, say)
	w.hidden(&t, say)
	w.tests(&t, say)
	if w.Assayd == "" { // what assayd wrote was proved without one
		t.Judge.Network, t.Judge.Command.Bash = true, true // its commands were made for bash
		say.Notice(folder.OpenNetwork)
	}
	say.Notice("gives the agent no network, 1 CPU and 2 GiB, where swe-forge's harness opens it and has all CPUs and 32 GB; network, work and judge of a run set others")
	if w.Patch != "" {
		t.Solution = &task.Solution{Patch: []byte(w.Patch)}
		touched, _ := runner.Files(t.Judge.Patch) // that it fails is said with the hidden tests
		for _, name := range runner.Asked(touched, t.Solution.Patch) {
			say.Notice(folder.AskedFor, name)
		}
	}
	if len(say.Problems) == 0 {
		if err := folder.Check(t); err != nil {
			say.Problem("%v", err)
		}
	}
	return t
}

func (w workspace) clone(t *task.Task, o task.ReadOptions, say *folder.Findings) {
	switch {
	case !repoName.MatchString(w.Repo):
		say.Problem("%q is %q, which is not written owner/name", "repo", w.Repo)
	case !commitName.MatchString(w.BaseCommit):
		say.Problem("%q is %q, which is no commit", "base_commit", w.BaseCommit)
	}
	forge := o.Forge
	if forge == "" {
		forge = github
	}
	t.Repo = &task.Repo{URL: strings.TrimSuffix(forge, "/") + "/" + w.Repo, Commit: w.BaseCommit}
}

// install takes the commands that make the image. Those of a language that swe-forge did not
// know are only a remark.
func (w workspace) install(t *task.Task, say *folder.Findings) {
	t.Work.Setup = []string{tools}
	text := strings.TrimSpace(w.InstallConfig["install"])
	if text == "" || strings.HasPrefix(text, "#") && !strings.Contains(text, "\n") {
		say.Notice("nothing says how what it depends on is installed")
		return
	}
	text = w.InstallConfig["install"]
	if w.Assayd == "" {
		text = bashed(text)
	}
	t.Work.Setup = append(t.Work.Setup, text)
}

// inBash runs its first argument in bash, where there is one, as swe-forge's harness does.
const inBash = "\nif command -v bash >/dev/null; then exec bash -ec \"$1\"; fi; eval \"$1\""

// bashed is a command for /bin/sh that has a text run by bash.
func bashed(text string) string { return "set -- " + runner.Quote(text) + inBash }

// plain undoes bashed.
func plain(command string) string {
	quoted, ours := strings.CutSuffix(strings.TrimPrefix(command, "set -- "), inBash)
	text := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(quoted, "'"), "'"), `'\''`, "'")
	if !ours || bashed(text) != command {
		return command
	}
	return text
}

// hidden takes the tests: files in the metadata, a patch, or both.
func (w workspace) hidden(t *task.Task, say *folder.Findings) {
	var files []testFile
	if text := w.Meta[testFiles]; text != "" {
		if err := json.Unmarshal([]byte(text), &files); err != nil {
			say.Problem("%q of meta is no list of files: %v", testFiles, err)
		}
	}
	touched := w.touched()
	for _, file := range files {
		if touched[file.Path] {
			continue // the patch makes it
		}
		name, ok := inside(file.Path)
		if !ok {
			say.Problem("the test file %q is not below %s", file.Path, workdir)
			continue
		}
		if t.Judge.Files == nil {
			t.Judge.Files = map[string]string{}
		}
		t.Judge.Files[name] = file.Content
		t.Submit.Exclude = append(t.Submit.Exclude, runner.Pattern(name))
	}
	if w.TestPatch != "" {
		t.Judge.Patch = []byte(w.TestPatch)
		touched, err := runner.Files(t.Judge.Patch)
		if err != nil {
			say.Problem("%q: %v", "test_patch", err)
		}
		for _, name := range touched {
			t.Submit.Exclude = append(t.Submit.Exclude, runner.Pattern(name))
		}
	}
	slices.Sort(t.Submit.Exclude)
	t.Submit.Exclude = slices.Compact(t.Submit.Exclude)
	if len(t.Judge.Files)+len(t.Judge.Patch) == 0 {
		say.Notice("it has no hidden tests: only the commands judge it")
	}
}

// inside is the path of a file relative to the repository, if that is where it is.
func inside(name string) (string, bool) {
	clean := path.Clean(name)
	if path.IsAbs(clean) {
		rest, ok := strings.CutPrefix(clean, workdir+"/")
		if !ok {
			return "", false
		}
		clean = rest
	}
	first, _, _ := strings.Cut(clean, "/")
	return clean, clean != "." && first != ".git" && filepath.IsLocal(clean) && !strings.ContainsAny(clean, "\x00\n")
}

// tests takes the commands, or the names of tests where our keys have them.
func (w workspace) tests(t *task.Task, say *folder.Findings) {
	if len(w.FailToPassTests) > 0 && w.TestCommand != "" {
		t.FailToPass, t.PassToPass = w.FailToPassTests, w.PassToPassTests
		t.Judge.Command.Shell, t.Judge.Parser, t.Judge.Timeout = w.TestCommand, w.LogParser, 30*time.Minute
	}
	for _, list := range [][]string{t.FailToPass, t.PassToPass} {
		if len(list) > maxCommands || slices.ContainsFunc(list, func(line string) bool { return strings.TrimSpace(line) == "" }) {
			say.Problem("%q or %q holds more than %d lines, or an empty one", "fail_to_pass", "pass_to_pass", maxCommands)
		}
	}
	if len(t.FailToPass) == 0 {
		say.Problem("no test has to be made to pass: %q is empty", "fail_to_pass")
	}
	for _, command := range t.FailToPass {
		if slices.Contains(t.PassToPass, command) {
			say.Problem("%q has to fail and to pass before the change", command)
		}
	}
}
