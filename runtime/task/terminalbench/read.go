package terminalbench

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// maxText bounds a file that is read.
const maxText = 16 << 20

// configFile makes a folder one of a task.
const configFile = "task.yaml"

// Read reads a task, or a folder of tasks.
func Read(dir string, o task.ReadOptions) task.Dataset {
	return folder.ReadEach(dir, configFile, o, func(root *folder.Root, at, name string, all *task.Dataset) {
		readTask(root, at, name, o, all)
	})
}

// reader is one task under way.
type reader struct {
	*folder.Root // the folder of the task
	folder.Findings
	config config
	o      task.ReadOptions
	t      task.Task

	service dockerfile.Service // what its container is made of
}

func readTask(root *folder.Root, dir, name string, o task.ReadOptions, all *task.Dataset) {
	r := &reader{Root: root, o: o, Findings: folder.Findings{File: path.Join(dir, configFile), Task: name}}
	defer func() { r.Add(all, r.t) }()
	if !folder.TaskName.MatchString(name) {
		r.Problem("%q is no name for a task", name)
		return
	}
	if dir != "." {
		sub, err := root.Sub(dir)
		if err != nil {
			r.Problem("%v", err)
			return
		}
		defer sub.Close()
		r.Root = sub
	}
	data, err := r.Read(configFile, maxText)
	if err == nil {
		r.config, err = parse(data)
	}
	if err != nil {
		r.Problem("%s: %v", configFile, err)
		return
	}
	if r.config.Note != "" {
		r.restore(name)
		return
	}
	if len(r.config.More) > 0 {
		r.Notice("has keys that are not known: %s", strings.Join(slices.Sorted(maps.Keys(r.config.More)), ", "))
	}
	r.t = task.Task{
		Name: name, Title: name, Instruction: r.config.Instruction, Network: task.Network{Mode: "open"},
		Submit: folder.Submit("."), Work: folder.Limits(), Metadata: metadata(r.config),
	}
	if r.t.Instruction == "" {
		r.Problem("has no instruction")
	}
	r.environment()
	r.tests()
	r.solution()
	if err := folder.Check(r.t); err != nil && len(r.Problems) == 0 {
		r.Problem("%v", err)
	}
}

// variables of the harness that mean something in a container.
var variables = strings.NewReplacer(
	"${T_BENCH_TEST_DIR}", "/tests", "${T_BENCH_CONTAINER_LOGS_PATH}", "/logs", "${T_BENCH_CONTAINER_AGENT_LOGS_PATH}", "/agent-logs",
)

// environment finds out how the image of the agent is made. Its build context is the folder
// of the task; what an agent may not see is left out of it.
func (r *reader) environment() {
	service := dockerfile.Service{Context: ".", Dockerfile: "Dockerfile"}
	if compose, err := r.Read("docker-compose.yaml", maxText); err == nil {
		if service, err = dockerfile.Compose(compose); err != nil {
			r.Problem("docker-compose.yaml %v", err)
			return
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		r.Problem("docker-compose.yaml %v", err)
	}
	r.service = service
	service.Limit(&r.t.Work)
	if service.Offline {
		r.t.Network.Mode = "none"
	}
	for name, value := range service.Env {
		value = variables.Replace(value)
		if strings.Contains(value, "${") {
			r.Problem("docker-compose.yaml takes %s from the environment of whoever runs it, which is not read here", name)
		}
		if name != "TEST_DIR" {
			r.t.Work.Env = with(r.t.Work.Env, name, value)
		}
	}
	r.t.Work.User, r.t.Workdir = service.User, service.Workdir
	if service.Context == "" {
		if r.t.Work.Image = service.Image; service.Image == "" {
			r.Problem("docker-compose.yaml says neither what its image is nor how it is built")
		}
	}
	text := ""
	if service.Context != "" {
		data, err := r.Read(path.Join(service.Context, service.Dockerfile), maxText)
		if err != nil {
			r.Problem("its Dockerfile cannot be read: %v", err)
			return
		}
		text = string(data)
		dockerfile.Tell(text, &r.Findings)
		tree, err := r.Gather(r.context(service.Context), r.o.Trees)
		if err != nil {
			r.Problem("%v", err)
		}
		r.t.Work.Dockerfile, r.t.Work.Context = text, tree
	}
	if known, ok := dockerfile.Workdir(text); r.t.Workdir == "" && ok {
		r.t.Workdir = known
	}
	if r.t.Workdir == "" {
		r.Problem("says of no folder that the agent works in it; set WORKDIR in its Dockerfile")
		r.t.Workdir = "/app"
	}
}

// hidden are the files of a task that are in no image of an agent.
var hidden = []string{configFile, "run-tests.sh", "tests", "solution.sh", "solution.yaml", "solution"}

// context is what of a folder its image may be built of.
func (r *reader) context(dir string) (pieces []folder.Piece) {
	if dir != "." {
		return []folder.Piece{{From: dir, To: "."}}
	}
	entries, err := r.Entries(".")
	if err != nil {
		r.Problem("%v", err)
	}
	for _, e := range entries {
		if !slices.Contains(hidden, e.Name()) {
			pieces = append(pieces, folder.Piece{From: e.Name(), To: e.Name()})
		}
	}
	return pieces
}

func with(env map[string]string, name, value string) map[string]string {
	if env == nil {
		env = map[string]string{}
	}
	env[name] = value
	return env
}

// testsAside is where tests lie in the working folder of the judge image until they are moved.
const testsAside = ".assayd-tests"

// moving are the commands that put the tests where this format has them.
func moving() []string {
	return []string{"rm -rf /tests && mv " + testsAside + " /tests && chmod -R a+rX /tests"}
}

// testPieces are the tests as they lie together in a container.
func testPieces() []folder.Piece {
	return []folder.Piece{{From: "tests", To: testsAside}, {From: "run-tests.sh", To: testsAside + "/run-tests.sh"}}
}

const testCommand = "bash /tests/run-tests.sh"

func (r *reader) tests() {
	c := r.config
	r.t.Judge = task.Judge{
		Part: folder.Limits(), Command: task.Command{Shell: testCommand}, Timeout: time.Minute, Parser: "pytest",
		Select: "pass_rate_first", Direction: "maximize", Feedback: "names", Network: !r.service.Offline,
	}
	r.service.Limit(&r.t.Judge.Part)
	r.t.Judge.Env = map[string]string{"TEST_DIR": "/tests"}
	r.t.Judge.Setup = moving()
	if c.TestTimeout > 0 && c.TestTimeout < 31*24*3600 {
		r.t.Judge.Timeout = time.Duration(c.TestTimeout * float64(time.Second))
	}
	if c.Parser != "" && c.Parser != "pytest" {
		r.Problem("parser_name is %q; pytest is known", c.Parser)
	}
	if c.SameShell {
		r.Problem("runs its tests in the shell that the agent leaves (run_tests_in_same_shell); here they run in a fresh container")
	}
	if !r.Has("run-tests.sh") {
		r.Problem("has no run-tests.sh")
	}
	r.AgentTimeout(c.AgentTimeout)
	r.Elsewhere(r.Root, r.t.Workdir, "tests", "run-tests.sh")
	tree, err := r.Gather(testPieces(), r.o.Trees)
	if err != nil {
		r.Problem("%v", err)
	}
	r.t.Judge.Context = tree
	if r.t.Judge.Network {
		r.Notice(folder.OpenNetwork)
	}
}

func (r *reader) solution() {
	text, err := r.Read("solution.sh", maxText)
	script := string(text)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = r.Read("solution.yaml", maxText); err == nil {
			script, err = keystrokes(text)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Notice("has no solution, so nothing shows that it can be solved")
	case err != nil:
		r.Notice("its solution %v, so nothing shows that it can be solved", err)
	default:
		r.t.Solution = &task.Solution{Script: "exec bash -c " + dockerfile.Quote(script) + "\n"}
	}
}

func metadata(c config) map[string]string {
	all := map[string]string{
		"author_name": c.AuthorName, "author_email": c.AuthorEmail, "difficulty": c.Difficulty, "category": c.Category,
		"tags": strings.Join(c.Tags, ", "),
	}
	for name, n := range map[string]float64{
		"estimated_duration_sec": c.Estimated, "expert_time_estimate_min": c.Expert, "junior_time_estimate_min": c.Junior,
	} {
		if n != 0 {
			all[name] = fmt.Sprint(n)
		}
	}
	if c.AgentTimeout > 0 && c.AgentTimeout < 1e9 {
		all["timeout"] = time.Duration(c.AgentTimeout * float64(time.Second)).String()
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}
