package terminalbench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Write writes each task as a folder of its name below dir. What the format cannot hold is a
// problem, and that task is left out. The note in task.yaml makes Read give the same task
// back.
func Write(dir string, tasks []task.Task, trees task.Trees) (problems []task.Problem, err error) {
	return folder.WriteEach(dir, tasks, func(dir string, t task.Task) (why string, err error) {
		if why := cannot(t); why != "" {
			return why, nil
		}
		return write(dir, t, trees)
	})
}

// cannot says what the format cannot hold of a task.
func cannot(t task.Task) string {
	if why := folder.Beyond(t, "terminal-bench"); why != "" {
		return why
	}
	switch {
	case t.Judge.Game != "":
		return "is a game, which terminal-bench does not have"
	case !dockerfile.OnWork(t):
		return "is judged in an image of its own, which terminal-bench does not have"
	}
	return ""
}

func write(dir string, t task.Task, trees task.Trees) (why string, err error) {
	w, err := folder.Create(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dockerfile.Work(w, ".", t, trees)
	w.Made("docker-compose.yaml", compose(t))
	if moved(t) {
		w.Part("tests", t.Judge.Context, testsAside, trees)
		w.Split("tests/run-tests.sh", "run-tests.sh")
	} else {
		w.Made("run-tests.sh", script(w, t, trees))
	}
	writeSolution(w, t, trees)
	if !w.Verify(places(&t), trees) {
		return folder.NotHeld, nil
	}
	c := configOf(t)
	sums := w.Sums()
	if sums[configName], err = c.sum(); err != nil {
		return "", err
	}
	short := t
	short.Instruction = ""
	c.Note = folder.NewNote(short, sums).String()
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", err
	}
	if len(text) > maxText {
		return "holds too much in files and patches of its own", nil
	}
	if again, err := parse(text); err != nil || again.Instruction != t.Instruction || again.Note != c.Note {
		return "has an instruction that YAML cannot hold", nil
	}
	w.File(configFile, string(text))
	return "", nil
}

// places of the trees of a task.
func places(t *task.Task) []folder.Place {
	work := folder.Place{Tree: &t.Work.Context, At: []folder.Piece{{From: ".assayd/context", To: "."}}, Exact: "assayd/work"}
	if t.Work.Dockerfile != "" {
		work.At = []folder.Piece{{From: "assayd/work", To: "."}} // beside it are the files of the task
	}
	judge := folder.Place{Tree: &t.Judge.Context, At: []folder.Piece{{From: "tests/.assayd/context", To: "."}}, Exact: "assayd/judge"}
	if moved(*t) {
		judge.At = testPieces()
	}
	all := []folder.Place{work, judge}
	if t.Solution != nil {
		all = append(all, folder.Place{Tree: &t.Solution.Context, At: []folder.Piece{{From: "assayd/solution", To: "."}}, Exact: "assayd/solution"})
	}
	return all
}

// moved reports whether the tests of a task are those of a folder of this format.
func moved(t task.Task) bool {
	return t.Judge.Command.Shell == testCommand && t.Judge.Parser == "pytest" && dockerfile.OnWork(t) &&
		slices.Equal(t.Judge.Setup, moving()) && len(t.Judge.Files) == 0 && t.Judge.Patch == nil
}

// compose is the file that terminal-bench starts a container by.
func compose(t task.Task) string {
	user := ""
	if t.Work.User != "" {
		user = fmt.Sprintf("    user: %q\n", t.Work.User)
	}
	return `services:
  client:
    build:
      dockerfile: Dockerfile
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
` + user + `    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
`
}

// script runs what decides. Where that is no pytest, its exit code is told as pytest would.
func script(w *folder.Writer, t task.Task, trees task.Trees) string {
	text := "#!/bin/bash\n# Written by assayd from its own form of this task.\ncd " + dockerfile.Quote(t.Workdir) + " || exit 1\n" +
		dockerfile.Overlay(w, "tests", "/tests", t, trees)
	run := dockerfile.RunAs(cmp.Or(t.Judge.User, t.Work.User))
	if t.Judge.Parser == "pytest" && !t.Judge.Command.Empty() {
		return text + "export PYTEST_ADDOPTS=-rA\n" + run(dockerfile.CommandText(t.Judge.Command)) + "\n"
	}
	commands := dockerfile.Commands(t)
	if !t.Judge.Command.Empty() {
		commands = []string{dockerfile.CommandText(t.Judge.Command)}
	}
	text += "results=\n"
	for i, command := range commands {
		text += fmt.Sprintf("if %s; then results=\"${results}PASSED judge::%d\n\"; else results=\"${results}FAILED judge::%d\n\"; fi\n", run(command), i+1, i+1)
	}
	return text + "echo '=========================== short test summary info ============================'\nprintf %s \"$results\"\n"
}

func writeSolution(w *folder.Writer, t task.Task, trees task.Trees) {
	if t.Solution == nil {
		return
	}
	in := "#!/bin/bash\ncd " + dockerfile.Quote(t.Workdir) + " || exit 1\n"
	switch s := *t.Solution; {
	case s.Script != "":
		w.Made("solution.sh", in+s.Script)
	case s.Patch != nil:
		w.Made("solution.sh", in+"git -c safe.directory='*' apply --whitespace=nowarn <<'END OF PATCH'\n"+string(s.Patch)+"END OF PATCH\n")
	default:
		w.Tree("assayd/solution", s.Context, trees)
		w.Made("solution.sh", in+"echo 'The solution is a folder, assayd/solution; only assayd applies it.' >&2\nexit 1\n")
	}
}

func configOf(t task.Task) config {
	c := config{
		Instruction: t.Instruction, Parser: "pytest", Difficulty: cmp.Or(t.Metadata["difficulty"], "unknown"),
		Category: cmp.Or(t.Metadata["category"], "software_engineering"), AuthorName: t.Metadata["author_name"], AuthorEmail: t.Metadata["author_email"],
		TestTimeout: t.Judge.Timeout.Seconds(),
	}
	if tags := t.Metadata["tags"]; tags != "" {
		c.Tags = strings.Split(tags, ", ")
	}
	return c
}

// configName is under which the sum of task.yaml is noted.
const configName = "=" + configFile

// sum is the checksum of what task.yaml says beside the note and the instruction, however it
// is written.
func (c config) sum() (string, error) {
	c.Note, c.Instruction = "", ""
	text, err := json.Marshal(c)
	return folder.Sum(text), err
}

// restore takes the task from its note, its trees and its instruction.
func (r *reader) restore(name string) {
	note, err := folder.ParseNote(r.config.Note, name)
	if err == nil {
		err = note.Holds(r.Root)
	}
	if err == nil {
		var sum string
		if sum, err = r.config.sum(); err == nil && sum != note.Sums[configName] {
			err = folder.Changed(configFile)
		}
	}
	if err == nil {
		r.t = note.Task
		err = r.Restore(places(&r.t), r.o.Trees)
	}
	if err != nil {
		r.Problem("%v", err)
	}
	r.t.Instruction = r.config.Instruction
	if err := folder.Check(r.t); err != nil && len(r.Problems) == 0 {
		r.Problem("%v", err)
	}
}
