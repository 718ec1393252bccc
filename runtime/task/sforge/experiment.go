package sforge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Experiment is one experiment file: what SForge would run at once.
type Experiment struct {
	File    string // its name in the folder
	Stagger time.Duration
	Runs    []Run // tasks that are run alike are one run
}

// Run is some tasks of an experiment with equal settings. What is zero was not said.
type Run struct {
	Name                         string // made of the name of the file; each run has its own
	Tasks                        []string
	Agent, Model, Effort, Engine string
	Timeout, Interval, Cooldown  time.Duration
	Max                          int
	NoStopHook, NoEval, NoResume bool
	Internet                     *bool
	WorkCPUs, JudgeCPUs          int
	WorkMemory, JudgeMemory      string
	Env                          map[string]string
}

// What a run gets of which the file says nothing else, as from SForge's command line.
const (
	defaultAgent    = "claude-code"
	defaultTimeout  = time.Hour
	defaultInterval = 5 * time.Minute
)

const maxExperiment = 1 << 20

// Experiments reads the experiment files of a folder. Other YAML files are not looked at
// twice; keys that have no effect here are notices.
func Experiments(dir string) (all []Experiment, problems, notices []task.Problem) {
	root, err := folder.Open(dir)
	if err != nil {
		return nil, []task.Problem{{Text: err.Error()}}, nil
	}
	defer root.Close()
	entries, err := root.Entries(".")
	if err != nil {
		return nil, []task.Problem{{Text: err.Error()}}, nil
	}
	taken := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" || name == benchmarkFile || strings.HasPrefix(name, ".") {
			continue
		}
		data, err := root.Read(name, maxExperiment)
		if err != nil {
			problems = append(problems, task.Problem{File: name, Text: err.Error()})
			continue
		}
		e, odd, err := parseExperiment(data)
		if errors.Is(err, errNoExperiment) {
			continue
		}
		if err != nil {
			problems = append(problems, *asProblem(name, err))
			continue
		}
		e.File = name
		for i := range e.Runs {
			e.Runs[i].Name = runName(strings.TrimSuffix(name, filepath.Ext(name)), taken)
		}
		for _, text := range odd {
			notices = append(notices, task.Problem{File: name, Text: folder.Printable(text)})
		}
		all = append(all, e)
	}
	return all, problems, notices
}

// runName makes a name of a block out of that of a file; none is given twice.
func runName(stem string, taken map[string]bool) string {
	const most = 50
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(stem))
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "run-" + name
	}
	name = name[:min(len(name), most)]
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	taken[unique] = true
	return unique
}

var errNoExperiment = errors.New("is no experiment")

// parseExperiment reads one file.
func parseExperiment(data []byte) (e Experiment, odd []string, err error) {
	if !utf8.Valid(data) {
		return e, nil, errors.New("is not UTF-8")
	}
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&document); errors.Is(err, io.EOF) {
		return e, nil, errNoExperiment
	} else if err != nil {
		return e, nil, unreadable(err)
	}
	l := loader{scalars: newScalars(), budget: maxLoaded}
	value, err := l.value(&document, 0)
	if err != nil {
		return e, nil, err
	}
	whole, _ := value.(map[string]any)
	tasks, ok := whole["tasks"].(map[string]any)
	if !ok {
		return e, nil, errNoExperiment
	}
	s := &settings{}
	model, _ := whole["model"].(map[string]any)
	common := s.merge(model, nil)
	if len(model) > 0 {
		delete(common, "api_key")
		delete(common, "api_base_url")
		s.oddf("model: key and address of the model belong into a provider of the settings; only the name is taken over")
	}
	if whole["env"] != nil {
		s.oddf("env: variables of the harness are not taken over")
	}
	e.Stagger = s.seconds(whole, "stagger")
	defaults, _ := whole["defaults"].(map[string]any)
	common = s.merge(common, defaults)
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		if !taskName.MatchString(id) {
			return e, nil, fmt.Errorf("%q is no name for a task", cut(id))
		}
		own, ok := tasks[id].(map[string]any)
		if !ok && tasks[id] != nil {
			return e, nil, fmt.Errorf("tasks.%s is no map", id)
		}
		e.add(id, s.run(s.merge(common, own)))
	}
	if len(e.Runs) == 0 {
		s.err = errors.New("names no tasks")
	}
	slices.Sort(s.odd)
	return e, slices.Compact(s.odd), s.err
}

// add puts a task to those that are run like it.
func (e *Experiment) add(id string, r Run) {
	for i := range e.Runs {
		same := e.Runs[i]
		if same.Tasks = nil; reflect.DeepEqual(same, r) {
			e.Runs[i].Tasks = append(e.Runs[i].Tasks, id)
			return
		}
	}
	r.Tasks = []string{id}
	e.Runs = append(e.Runs, r)
}
