package harbor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Bounds of what is read.
const (
	maxConfig = 16 << 20
	maxText   = 4 << 20
)

// configFile makes a folder one of a task.
const configFile = "task.toml"

// Read reads a task, or a folder of tasks.
func Read(dir string, o task.ReadOptions) task.Dataset {
	return folder.ReadEach(dir, configFile, o, func(root *folder.Root, at, name string, all *task.Dataset) {
		readTask(root, at, name, o, all)
	})
}

// reader is one task under way.
type reader struct {
	*folder.Root
	folder.Findings
	dir    string // of the task, in the root
	at     string // of its instruction, tests and solution: dir, or that of the only step
	config config
	o      task.ReadOptions
	t      task.Task

	service dockerfile.Service // of the compose file, if there is one
}

func readTask(root *folder.Root, dir, name string, o task.ReadOptions, all *task.Dataset) {
	r := &reader{Root: root, dir: dir, at: dir, o: o, Findings: folder.Findings{File: path.Join(dir, configFile), Task: name}}
	defer func() { r.Add(all, r.t) }()
	if !folder.TaskName.MatchString(name) {
		r.Problem("%q is no name for a task", name)
		return
	}
	data, err := root.Read(r.File, maxConfig)
	if err != nil {
		r.Problem("%s %v", configFile, err)
		return
	}
	var unknown []string
	var line int
	if r.config, unknown, line, err = parse(data); err != nil {
		r.Problem("is no TOML as Harbor writes it: %v", err)
		r.Problems[0].Line = line
		return
	}
	if note, ok := noteOf(r.config); ok {
		r.restore(note, name, data)
		return
	}
	if len(unknown) > 0 {
		r.Notice("has keys that are not known: %s", strings.Join(unknown, ", "))
	}
	r.t = task.Task{Name: name, Title: r.config.Task.Name, Metadata: metadata(r.config)}
	r.read()
	if len(r.Problems) == 0 {
		if err := folder.Check(r.t); err != nil {
			r.Problem("%v", err)
		}
	}
}

// read turns the whole folder into a task.
func (r *reader) read() {
	r.version()
	r.steps()
	r.instruction()
	r.limits(&r.t.Work, r.config.Environment, "environment")
	r.environment()
	r.network()
	r.tests()
	r.solution()
	r.AgentTimeout(r.number("agent.timeout_sec", r.config.Agent.Timeout))
}

func (r *reader) version() {
	v := r.config.SchemaVersion
	if v == nil {
		v = r.config.Version
	}
	switch fmt.Sprint(v) {
	case "<nil>", "1.0", "1.1", "1.2", "1.3", "1.4", "1":
	default:
		r.Notice("is of schema %v; 1.0 to 1.4 are known", v)
	}
}

// steps takes the only step for the task. Several share one container, and each is judged in
// what the one before left.
func (r *reader) steps() {
	all := r.config.Steps
	switch {
	case len(all) == 0:
		return
	case len(all) > 1:
		r.Problem("has %d steps that share one container; a task here is judged once", len(all))
		return
	}
	only := all[0]
	r.at = path.Join(r.dir, "steps", only.Name)
	if !filepath.IsLocal(only.Name) || !r.Folder(r.at) {
		r.Problem("has no folder for the step %q", only.Name)
		return
	}
	if r.Folder(path.Join(r.at, "workdir")) {
		r.Problem("the step %q adds files to the container; that is not done here", only.Name)
	}
	if len(only.Health) > 0 {
		r.config.Environment.Health = only.Health
	}
	a := &r.config.Agent
	if only.Agent.Timeout != nil {
		a.Timeout = only.Agent.Timeout
	}
	if only.Agent.User != nil {
		a.User = only.Agent.User
	}
	if only.Agent.NetworkMode != "" {
		a.NetworkMode, a.Hosts = only.Agent.NetworkMode, only.Agent.Hosts
	}
	if v := only.Verifier; v.Timeout != nil {
		r.config.Verifier.Timeout = v.Timeout
	}
	if v := only.Verifier; v.Mode != "" || v.Environment != nil || v.Env != nil || v.User != nil || v.NetworkMode != "" || len(v.Collect) > 0 {
		r.Problem("the step %q has a verifier of its own", only.Name)
	}
	r.config.Artifacts = append(r.config.Artifacts, only.Artifacts...)
}

func (r *reader) instruction() {
	name := path.Join(r.at, "instruction.md")
	text, err := r.Read(name, maxText)
	if err != nil {
		r.In(name, func(f *folder.Findings) { f.Problem("instruction.md %s", missing(err)) })
	}
	r.t.Instruction = string(text)
}

// missing is an error of a file in words.
func missing(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "is not there"
	}
	return err.Error()
}
