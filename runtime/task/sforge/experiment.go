package sforge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []task.Problem{{Text: plain(err).Error()}}, nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, []task.Problem{{Text: plain(err).Error()}}, nil
	}
	taken := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" || name == benchmarkFile || strings.HasPrefix(name, ".") {
			continue
		}
		data, err := readFile(root, name, maxExperiment)
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
			notices = append(notices, task.Problem{File: name, Text: shown(text)})
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

// settings reads values as Python would take them.
type settings struct {
	odd []string
	err error
}

func (s *settings) oddf(format string, args ...any) {
	s.odd = append(s.odd, fmt.Sprintf(format, args...))
}

// merge lays settings over others. Of extra_env both count.
func (s *settings) merge(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range over {
		env, ok := v.(map[string]any)
		if was, had := out[key].(map[string]any); key == "extra_env" && ok && had {
			both := maps.Clone(was)
			maps.Copy(both, env)
			v = both
		}
		out[key] = v
	}
	return out
}

func (s *settings) run(m map[string]any) Run {
	r := Run{
		Agent: s.text(m, "agent"), Model: s.text(m, "model"), Effort: s.text(m, "effort"),
		Timeout: s.seconds(m, "timeout"), Interval: s.seconds(m, "eval_interval"), Cooldown: s.seconds(m, "submission_cooldown"),
		Max: s.whole(m, "max_submissions"), NoStopHook: s.truth(m, "disable_stop_hook"), NoEval: s.truth(m, "disable_auto_eval"),
		NoResume: s.truth(m, "disable_auto_resume"),
	}
	if m["internet"] != nil {
		open := s.truth(m, "internet")
		r.Internet = &open
	}
	cpus, memory := s.whole(m, "cpu_limit"), s.text(m, "mem_limit")
	r.WorkCPUs, r.JudgeCPUs, r.WorkMemory, r.JudgeMemory = cpus, cpus, memory, memory
	for _, one := range []struct {
		role   string
		cpus   *int
		memory *string
	}{{"work", &r.WorkCPUs, &r.WorkMemory}, {"judge", &r.JudgeCPUs, &r.JudgeMemory}} {
		if n := s.whole(m, one.role+"_cpu_limit"); n > 0 {
			*one.cpus = n
		}
		if text := s.text(m, one.role+"_mem_limit"); text != "" {
			*one.memory = text
		}
	}
	if backend := s.text(m, "backend"); backend == "k8s" || backend == "kubernetes" {
		r.Engine = "kubernetes"
	}
	if m["judge_url"] != nil {
		s.oddf("judge_url: an agent is told where its judge is")
		delete(m, "judge_url")
	}
	if env, ok := m["extra_env"].(map[string]any); ok {
		r.Env = map[string]string{}
		for name, v := range env {
			r.Env[name] = scalarText(v)
		}
	}
	delete(m, "extra_env")
	delete(m, "backend")
	for key := range m {
		if !s.known(key) {
			s.oddf("%q has no effect, here as there", cut(key))
		}
	}
	return r
}

func (s *settings) known(key string) bool {
	return slices.Contains([]string{
		"agent", "model", "effort", "timeout", "eval_interval", "submission_cooldown", "max_submissions", "disable_stop_hook",
		"disable_auto_eval", "disable_auto_resume", "internet", "cpu_limit", "mem_limit", "work_cpu_limit", "work_mem_limit",
		"judge_cpu_limit", "judge_mem_limit",
	}, key)
}

func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *big.Int:
		return v.String()
	case float64:
		return floatText(v)
	}
	return fmt.Sprint(v)
}

func (s *settings) text(m map[string]any, key string) string {
	switch v := m[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case *big.Int:
		return v.String()
	}
	s.err = fmt.Errorf("%q is no text", key)
	return ""
}

// whole reads a number from 0.
func (s *settings) whole(m map[string]any, key string) int {
	switch v := m[key].(type) {
	case nil:
		return 0
	case *big.Int:
		if v.IsInt64() && v.Int64() >= 0 && v.Int64() < 1<<31 {
			return int(v.Int64())
		}
	}
	s.err = fmt.Errorf("%q is no whole number from 0", key)
	return 0
}

func (s *settings) seconds(m map[string]any, key string) time.Duration {
	return time.Duration(s.whole(m, key)) * time.Second
}

// truth is what Python takes for true: any text but the empty one, too.
func (s *settings) truth(m map[string]any, key string) bool {
	switch v := m[key].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		if v != "" {
			s.oddf("%s: the text %q counts as true, as it does in SForge", key, cut(v))
		}
		return v != ""
	case *big.Int:
		return v.Sign() != 0
	}
	return true
}
