package sforge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// sheet is a task file as it is written.
type sheet struct {
	ID       string     `json:"task_id"`
	Name     string     `json:"name"`
	Base     string     `json:"base_image"`
	Platform string     `json:"platform"`
	Workdir  string     `json:"cwd"`
	Submit   []string   `json:"submit_paths"`
	Exclude  []string   `json:"submit_exclude"`
	Internet bool       `json:"internet"`
	Game     bool       `json:"game_mode,omitempty"`
	Category string     `json:"category,omitempty"`
	Work     workPart   `json:"work"`
	Judge    judgePart  `json:"judge"`
	Note     *note      `json:"assayd,omitempty"`
	base     baseImage  // what Base names
	native   *task.Task // what it must be read as; nil = the note says
}

type workPart struct {
	Setup    []string `json:"setup_cmds,omitempty"`
	Tag      string   `json:"image_tag,omitempty"`
	SpecsDir string   `json:"specs_dir"`
	Query    string   `json:"agent_query"`
	CPUs     int      `json:"cpu_limit,omitempty"`
	Memory   string   `json:"mem_limit,omitempty"`
}

type judgePart struct {
	Setup     []string       `json:"setup_cmds,omitempty"`
	Tag       string         `json:"image_tag,omitempty"`
	Eval      string         `json:"eval_cmd"`
	Timeout   int            `json:"eval_timeout"`
	Parser    string         `json:"parser"`
	Direction string         `json:"score_direction"`
	Selection string         `json:"selection"`
	Rescale   map[string]any `json:"rescale,omitempty"`
	Server    string         `json:"game_server_cmd,omitempty"`
	CPUs      int            `json:"cpu_limit,omitempty"`
	Memory    string         `json:"mem_limit,omitempty"`
}

// baseImage is an entry of base_images as it is written.
type baseImage struct {
	Image       string   `yaml:"official_image"`
	Packages    []string `yaml:"extra_packages"`
	User        string   `yaml:"user_directive,omitempty"`
	PipPackages []string `yaml:"pip_packages,omitempty"`
	PostInstall string   `yaml:"post_install_directive,omitempty"`
}

// ownName is what a benchmark is called whose tasks come from elsewhere.
const ownName = "assayd"

// Write writes BENCHMARK.yaml and one file a task into dir, which must be new or empty. A task
// that came from this format is written as it came. Any other gets commands that make the
// same images, and a note, which makes Read give the same task back. What the format cannot
// hold of a task is a problem, and that task is left out.
func Write(dir string, tasks []task.Task, trees task.Trees) (problems []task.Problem, err error) {
	left := func(t task.Task, why string) {
		problems = append(problems, task.Problem{Task: t.Name, Text: why})
	}
	bases := map[string]baseImage{}
	name := nameOf(tasks)
	var all []sheet
	for _, t := range tasks {
		d, why := asNative(t, name)
		if why != "" {
			if d, why, err = asForeign(t, name, trees); err != nil {
				return problems, err
			}
		}
		if why != "" {
			left(t, why)
			continue
		}
		if there, ok := bases[d.Base]; ok && !reflect.DeepEqual(there, d.base) {
			if d.native != nil {
				left(t, fmt.Sprintf("has a base image %q that differs from that of another task", d.Base))
				continue
			}
			d.Base += "-" + folder.Sum(fmt.Append(nil, d.base))[:8]
		}
		bases[d.Base] = d.base
		all = append(all, d)
	}
	text, bench, err := benchmarkText(name, bases)
	if err != nil {
		return problems, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return problems, fmt.Errorf("make the folder of a benchmark: %w", err)
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		return problems, fmt.Errorf("folder %s is not empty", dir)
	}
	if err := os.WriteFile(filepath.Join(dir, benchmarkFile), text, 0o644); err != nil {
		return problems, fmt.Errorf("write a benchmark: %w", err)
	}
	for _, d := range all {
		data, why := d.text(bench)
		if why != "" {
			left(task.Task{Name: d.ID}, why)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, d.ID+".json"), data, 0o644); err != nil {
			return problems, fmt.Errorf("write a task: %w", err)
		}
	}
	return problems, nil
}

// benchmarkText is BENCHMARK.yaml, and how it is read.
func benchmarkText(name string, bases map[string]baseImage) ([]byte, *benchmark, error) {
	text, err := yaml.Marshal(map[string]any{"name": name, "base_images": bases})
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", benchmarkFile, err)
	}
	bench, err := parseBenchmark(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s, as it is written, %w", benchmarkFile, err)
	}
	return text, bench, nil
}

// text is the file, once it is sure that it will be read as it is meant.
func (d sheet) text(bench *benchmark) (data []byte, why string) {
	tooLarge := fmt.Sprintf("makes a file of more than %d MiB with its folders and patches", maxTaskFile>>20)
	if d.Note != nil {
		plain := d
		plain.Note = nil
		data, err := encode(plain)
		if len(data) > maxTaskFile {
			return nil, tooLarge
		}
		if err == nil {
			d.Note.Sums[fileSum], err = sumOf(data)
		}
		if err != nil {
			return nil, err.Error()
		}
		d.Note.Sums[baseSum] = bench.bases[d.Base].Ref
	}
	data, err := encode(d)
	if err != nil {
		return nil, err.Error()
	}
	if len(data) > maxTaskFile {
		return nil, tooLarge
	}
	got, _, err := parseTask(data, d.ID, bench)
	switch {
	case err != nil:
		return nil, "cannot be written: " + err.Error()
	case d.native != nil && !same(got, *d.native):
		return nil, "would be read as another task"
	}
	return data, ""
}

// same compares tasks as they are stored.
func same(a, b task.Task) bool {
	a.Benchmark, b.Benchmark = "", ""
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

func encode(d sheet) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(d)
	return b.Bytes(), err
}

// nameOf is the name of the benchmark that the tasks came from, which is in the names of
// their images.
func nameOf(tasks []task.Task) string {
	for _, t := range tasks {
		if name, _, ok := strings.Cut(t.Work.Image+t.Work.Ref, ".work."+t.Name+":"); ok && name != "" {
			return name
		}
	}
	return ownName
}

// common is what every task has a place for.
func common(t task.Task) sheet {
	d := sheet{
		ID: t.Name, Name: t.Title, Platform: t.Platform, Workdir: t.Workdir, Submit: t.Submit.Paths, Exclude: patterns(t.Submit.Exclude),
		Internet: t.Network.Mode == "open",
	}
	if d.Submit == nil {
		d.Submit = []string{}
	}
	d.Work.Query = t.Instruction
	d.Work.CPUs, d.Work.Memory = limitsOf(t.Work)
	j := &d.Judge
	j.CPUs, j.Memory = limitsOf(t.Judge.Part)
	j.Timeout, j.Direction, j.Selection = max(int(t.Judge.Timeout.Seconds()), 1), t.Judge.Direction, t.Judge.Select
	if r := t.Judge.Rescale; r != nil {
		j.Rescale = map[string]any{"kind": r.Kind}
		for name, v := range r.Anchors {
			j.Rescale[name] = v
		}
	}
	return d
}

// patterns undoes what reading does to them.
func patterns(list []string) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, strings.NewReplacer(`\\`, `\`, `\{`, "{", `\}`, "}").Replace(p))
	}
	return out
}

func limitsOf(p task.Part) (cpus int, memory string) {
	if p.CPUs != defaultCPUs {
		cpus = int(p.CPUs + 0.999)
	}
	if p.Memory != defaultMemory && p.Memory > 0 {
		memory = fmt.Sprintf("%db", p.Memory)
	}
	return cpus, memory
}

func baseOf(b task.Base) baseImage {
	return baseImage{
		Image: b.Image, Packages: append([]string{}, b.Packages...), User: b.User, PipPackages: slices.Clone(b.PipPackages), PostInstall: b.PostInstall,
	}
}
