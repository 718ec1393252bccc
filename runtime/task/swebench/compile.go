package swebench

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/runner"
)

// What a row says nothing about.
const (
	workdir     = "/testbed"
	timeout     = 30 * time.Minute
	github      = "https://github.com"
	evalFile    = "/eval.sh"
	maxMetadata = 4 << 20
	maxTests    = 100_000
)

// Shapes of values.
var (
	repoName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+$`)
	pythonVersion = regexp.MustCompile(`^[0-9]{1,2}(\.[0-9]{1,3}){0,2}$`)
	commitName    = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

func sortTasks(tasks []task.Task) {
	slices.SortFunc(tasks, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
}

// id is the name of the instance. Multi-SWE-bench has it in parts.
func (r row) id() string {
	if id := r.text(colID); id != "" {
		return id
	}
	if org := r.text("org"); org != "" && r.text(colRepo) != "" && r["number"].text != "" {
		return org + "__" + r.text(colRepo) + "-" + r["number"].text
	}
	return ""
}

// taskName is the id without the slashes of those who nest them.
func (r row) taskName() string { return strings.ReplaceAll(r.id(), "/", "__") }

// repo is owner/name.
func (r row) repo() string {
	if org := r.text("org"); org != "" {
		return org + "/" + r.text(colRepo)
	}
	return r.text(colRepo)
}

func (r row) commit() string {
	if commit := r.text(colCommit); commit != "" {
		return commit
	}
	return r.inner("base").text("sha")
}

// task turns a row into a task, and says what is lost. With a problem said it is of no use.
func (r row) task(o task.ReadOptions, say *folder.Findings) task.Task {
	if note, ok := r[colOurs]; ok {
		t, err := r.exact(note)
		if err == nil {
			return t
		}
		say.Notice("column %q is passed over: %v", colOurs, err)
	}
	t := task.Task{
		Name: r.taskName(), Workdir: workdir, Network: task.Network{Mode: "none"}, Submit: folder.Submit("."),
		Work: folder.Limits(), Metadata: map[string]string{},
		Judge: task.Judge{Part: folder.Limits(), Timeout: timeout, Select: "pass_rate_first", Direction: "maximize", Feedback: "names"},
	}
	if !folder.TaskName.MatchString(t.Name) {
		say.Problem("%q is %q, which is no name for a task", colID, r.id())
	}
	if t.Instruction = r.statement(); t.Instruction == "" {
		say.Problem("%q is missing", colStatement)
	}
	if patch := r.first(colPatch, "fix_patch"); patch != "" {
		t.Solution = &task.Solution{Patch: []byte(patch)}
	}
	r.tests(&t, say)
	touched, err := runner.Files([]byte(r.text(colTests)))
	if err != nil {
		say.Problem("%q: %v", colTests, err)
	}
	for _, name := range touched {
		t.Submit.Exclude = append(t.Submit.Exclude, runner.Pattern(name))
	}
	if t.Solution != nil {
		for _, name := range runner.Asked(touched, t.Solution.Patch) {
			say.Notice(folder.AskedFor, name)
		}
	}
	used := []string{colID, colStatement, colPatch, "fix_patch", colF2P, colP2P}
	if r.text(colImage) != "" && r.text(colScript) != "" {
		used = append(used, r.script(&t, say)...)
	} else {
		used = append(used, r.repository(&t, o, touched, say)...)
	}
	r.metadata(&t, used, say)
	r.differences(&t, say)
	if len(say.Problems) == 0 {
		if err := folder.Check(t); err != nil {
			say.Problem("%v", err)
		}
	}
	return t
}

// differences tells what SWE-bench does otherwise, and opens the network, as there: its scripts
// install what was submitted. What assayd wrote was proved without one.
func (r row) differences(t *task.Task, say *folder.Findings) {
	if _, ours := r[colOurs]; !ours {
		t.Judge.Network = true
		say.Notice(folder.OpenNetwork)
	}
	say.Notice("has 1 CPU and 2 GiB, where SWE-bench sets no limits; work and judge of a run set others")
	if len(t.PassToPass) > 0 {
		say.Notice("a test of %q that is skipped counts as failed, which SWE-bench lets pass", colP2P)
	}
}

// statement is what the agent is told. Hints are not: they were written with the solution.
func (r row) statement() string {
	text := r.text(colStatement)
	var issues []struct{ Title, Body string }
	if text == "" && json.Unmarshal([]byte(r["resolved_issues"].text), &issues) == nil {
		for _, issue := range issues {
			text += strings.TrimSpace(issue.Title+"\n\n"+issue.Body) + "\n\n"
		}
		text = strings.TrimSpace(text)
	}
	return text
}

// tests reads the two lists.
func (r row) tests(t *task.Task, say *folder.Findings) {
	read := func(names ...string) []string {
		for _, name := range names {
			if _, ok := r[name]; !ok {
				continue
			}
			list, ok := r.list(name)
			switch {
			case !ok:
				say.Problem("%q is no list of names", name)
			case len(list) > maxTests || slices.Contains(list, ""):
				say.Problem("%q holds more than %d names, or an empty one", name, maxTests)
			}
			return list
		}
		return nil
	}
	t.FailToPass, t.PassToPass = read(colF2P, "fail_to_pass"), read(colP2P, "pass_to_pass")
	for _, of := range []struct {
		column string
		to     *[]string
		told   string
	}{
		{"f2p_tests", &t.FailToPass, ""},
		{"p2p_tests", &t.PassToPass, ""},
		{"n2p_tests", &t.FailToPass, "tests that are new to the repository count as FAIL_TO_PASS"},
		{"s2p_tests", &t.FailToPass, "tests that were skipped before count as FAIL_TO_PASS"},
	} {
		var names map[string]json.RawMessage
		if json.Unmarshal([]byte(r[of.column].text), &names) != nil || len(names) == 0 {
			continue
		}
		*of.to = append(*of.to, slices.Sorted(maps.Keys(names))...)
		if of.told != "" {
			say.Notice("%d %s", len(names), of.told)
		}
	}
	if len(t.FailToPass) == 0 {
		say.Problem("no test has to be made to pass: %q is empty", colF2P)
	}
}

// script is a task whose image and evaluation are ready. It returns the columns it has used.
func (r row) script(t *task.Task, say *folder.Findings) []string {
	t.Image = r.text(colImage)
	ending, tests, ok := closed(r.text(colScript))
	if !ok {
		say.Problem("%q has no lines with %q and %q around its tests, so that no exit code of theirs is seen", colScript, startMark, endMark)
	}
	t.Judge.Files = map[string]string{evalFile: ending}
	t.Judge.Window = &task.Window{Mark: startMark, Command: tests}
	t.Judge.Command.Argv = []string{"/bin/bash", evalFile}
	t.Judge.Parser = r.parser(r.text(colParser), "", t, nil, say)
	if kind := r.text(colType); kind != "" && kind != passAndFail {
		say.Problem("%q is %q: tests that are not named would have to count as passed", colType, kind)
	}
	if assets, ok := r["image_assets"]; ok && assets.text != "{}" && assets.text != "[]" {
		say.Notice("the files of %q are not fetched", "image_assets")
	}
	return []string{colImage, colScript}
}

const passAndFail = "pass_and_fail"

// repository is a task that has to be made of a clone, or of an image with nothing to run.
func (r row) repository(t *task.Task, o task.ReadOptions, touched []string, say *folder.Findings) []string {
	used := []string{colTests}
	if text := r.text(colTests); text != "" {
		t.Judge.Patch = []byte(text)
	} else {
		say.Problem("%q is missing: nothing would test the submission", colTests)
	}
	for _, name := range []string{"dockerhub_tag", "rebuild_cmds", "print_cmds"} {
		if v, ok := r[name]; ok && v.text != "" && v.text != "[]" {
			say.Problem("it is judged with what %q says, which is not done here", name)
		}
	}
	config := r.inner("install_config")
	if v := r["install_config"]; config == nil && v.text != "" {
		say.Problem("%q is no object of JSON", "install_config")
	}
	if image := r.first(colImage, "image_name", "docker_image"); image != "" {
		t.Image = image
		if r.text("image_name") != "" { // the second SWE-rebench has each repository under its name
			t.Workdir = "/" + path.Base(r.repo())
		}
	} else {
		used = append(used, r.clone(t, o, say)...)
		t.Image = config.base(o, say)
		t.Work.Setup = config.setup(say)
		t.Work.Env, t.Judge.Env = config.env(), config.env()
		if len(t.Work.Setup) == 0 {
			say.Notice("nothing says how what it depends on is installed")
		}
	}
	r.command(t, config, touched, say)
	return used
}

// clone says where the repository is.
func (r row) clone(t *task.Task, o task.ReadOptions, say *folder.Findings) []string {
	repo, commit := r.repo(), r.commit()
	switch {
	case !repoName.MatchString(repo):
		say.Problem("%q is %q, which is not written owner/name", colRepo, repo)
	case !commitName.MatchString(commit):
		say.Problem("%q is %q, which is no commit", colCommit, commit)
	}
	forge := o.Forge
	if forge == "" {
		forge = github
	}
	t.Repo = &task.Repo{URL: strings.TrimSuffix(forge, "/") + "/" + repo, Commit: commit}
	return []string{colRepo, "org", colCommit}
}

// base is the image that an install_config begins with: the one it names, or that of its
// version of Python.
func (r row) base(o task.ReadOptions, say *folder.Findings) string {
	image, version := r.text("base_image_name"), r["python"].text
	switch {
	case strings.ContainsAny(image, ":/"):
		return image
	case image != "":
		say.Problem("it begins with %q, which is no image", image)
	case version == "":
	case pythonVersion.MatchString(version):
		return "python:" + version + "-slim"
	default:
		say.Problem("%q of install_config is %q, which is no version", "python", version)
	}
	return o.Image
}

// setup are the commands of an install_config that install what a repository needs, in the words
// of SWE-rebench. There is no conda.
func (r row) setup(say *folder.Findings) []string {
	commands := r.lines("pre_install")
	for _, name := range []string{"packages", "env_yml_path"} {
		if list := r.lines(name); len(list) > 0 && r.text(name) != "requirements.txt" {
			say.Problem("%q of install_config is %s: it is installed by conda, which is not done here", name, strings.Join(list, ", "))
		}
	}
	for _, file := range r.lines("reqs_path") {
		if r.text("packages") == "requirements.txt" {
			commands = append(commands, "pip install -r "+runner.Quote(file))
		}
	}
	commands = append(commands, r.lines("install")...)
	if packages := r.lines("pip_packages"); len(packages) > 0 {
		commands = append(commands, "pip install "+runner.Line(packages))
	}
	return commands
}

// env are the variables that an install_config sets, for what it installs and for the tests.
func (r row) env() map[string]string {
	vars := r.inner("env_vars")
	if len(vars) == 0 {
		return nil
	}
	env := make(map[string]string, len(vars))
	for name, v := range vars {
		env[name] = v.text
	}
	return env
}

// command says how the tests are run: as the row says, or as their names do.
func (r row) command(t *task.Task, config row, touched []string, say *folder.Findings) {
	given := slices.Concat(config.lines("test_cmd"), r.lines("test_cmd"), r.lines("test_cmds"))
	named := config.first(colParser)
	if named == "" {
		named = r.text(colParser)
	}
	line := strings.Join(given, "\n")
	t.Judge.Parser = r.parser(named, line, t, touched, say)
	if t.Judge.Parser == "" {
		return
	}
	if line == "" {
		var ok bool
		if line, ok = runner.Command(t.Judge.Parser, append(slices.Clone(t.FailToPass), t.PassToPass...), touched); !ok {
			say.Problem("no %q in install_config, and none is known for %s", "test_cmd", t.Judge.Parser)
		}
	} else if config.text(colParser) == "" && t.Judge.Parser == "pytest" && !strings.Contains(line, "::") {
		// The first SWE-rebench, as SWE-bench, puts the files of the test patch behind it.
		for _, name := range touched {
			if runner.IsTest("pytest", name) && !strings.Contains(line, name) {
				line += " " + runner.Quote(name)
			}
		}
	}
	t.Judge.Command = task.Command{Shell: line, Bash: len(given) > 0}
}

// parser finds who understands the output: by name, by the command, or by the names of tests.
func (r row) parser(named, line string, t *task.Task, touched []string, say *folder.Findings) string {
	if named != "" {
		if found := ours(named); found != "" {
			return found
		}
		say.Problem("the output is for %q, which is not known here", named)
		return ""
	}
	found := runner.Guess(line)
	if found == "" && line == "" {
		found = runner.GuessByNames(append(slices.Clone(t.FailToPass), t.PassToPass...), touched)
	}
	if found == "" {
		say.Problem("nothing says which program runs its tests: neither %q, nor a command, nor the names of the tests", colParser)
	}
	return found
}

// metadata keeps the columns that were not used, so that they can be written again. Which of
// them are no text is kept under a name of ours.
func (r row) metadata(t *task.Task, used []string, say *folder.Findings) {
	room := maxMetadata
	var raw []string
	if id := r.id(); id != t.Name {
		t.Metadata[colID] = id
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		v := r[name]
		if name == colOurs || name == rawColumns || slices.Contains(used, name) || v == (value{}) {
			continue
		}
		if room -= len(name) + len(v.text); room < 0 {
			say.Notice("column %q and those behind it are left out: more than %d MiB", name, maxMetadata>>20)
			break
		}
		t.Metadata[name] = v.text
		if v.raw {
			raw = append(raw, name)
		}
	}
	if len(raw) > 0 {
		t.Metadata[rawColumns] = string(jsonText(raw))
	}
}

// rawColumns is the metadata that says which others are JSON of something that is no text.
const rawColumns = "swebench.json"

// exact is the task that the note of ours holds, if the other columns follow from it.
func (r row) exact(note value) (task.Task, error) {
	t, err := parseNote(note.text, r)
	if err != nil {
		return task.Task{}, err
	}
	if problems := beyond(t); len(problems) > 0 {
		return task.Task{}, fmt.Errorf("it holds a task that no row can hold: %s", problems[0])
	}
	again := plainRow(t)
	for name, v := range again {
		if name != colOurs && r[name] != v {
			return task.Task{}, fmt.Errorf("column %q was changed", name)
		}
	}
	for name := range r {
		if _, ok := again[name]; !ok && name != colOurs {
			return task.Task{}, fmt.Errorf("column %q was added", name)
		}
	}
	return t, nil
}
