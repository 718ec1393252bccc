//go:build real

package daemon_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
)

// pull is one real merged pull request, as instances.json has it.
type pull struct {
	ID          string   `json:"instance_id"`
	Repo        string   `json:"repo"`
	Language    string   `json:"language"`
	Category    string   `json:"category"`
	Created     string   `json:"created_at"`
	Base        string   `json:"base_commit"`
	Merge       string   `json:"merge_commit"`
	TestFiles   []string `json:"test_files"`
	FailToPass  []string `json:"FAIL_TO_PASS"`
	PassToPass  []string `json:"PASS_TO_PASS"`
	Environment struct {
		Env map[string]string `json:"env"`
	} `json:"environment"`
	Verified struct {
		FailingAnyway []string `json:"failing_both_sides"`
	} `json:"verified"`

	clone string // path of the bare repository
}

// toolchain is how the tests of one language are run.
type toolchain struct {
	Image, Parser string
	command       string // what comes before the test files or folders
	folders       bool   // tests are named by folder, not by file
	whole         bool   // tests are not named: all are run
	modules       string // the folder that holds what the tests need beside the image
	// install makes that folder in dir, or nothing where nothing is needed.
	install func(t *testing.T, p pull, dir string)
	version string // a command that says which it is
	// cache makes in dir what an image has to hold at its root, so that nothing is installed.
	cache func(t *testing.T, p pull, dir string)
}

func toolchains() map[string]toolchain {
	return map[string]toolchain{
		"python": {
			Image: "assayd-base/python:1", Parser: "pytest",
			command: "python3 -m pytest -v -p no:cacheprovider -o addopts=", version: "python3 --version",
		},
		"go": {
			Image: "assayd-base/go:1", Parser: "gotest", command: "go test -json -count=1", folders: true,
			modules: "vendor", install: vendorModules, version: "go version", cache: cacheModules,
		},
		"javascript": {
			Image: "assayd-base/node:1", Parser: "node", command: "node --test --test-reporter=tap",
			modules: "node_modules", install: installPackages, version: "node --version", cache: cachePackages,
		},
		"rust": {
			Image: "assayd-base/rust:1", Parser: "cargo", command: "cargo test --no-fail-fast", whole: true, version: "cargo --version",
		},
	}
}

// realPulls returns every pull request that makes a good task in a language known here.
func realPulls(t *testing.T) []pull {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(os.Getenv("ASSAYD_DATA"), "instances.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder with instances.json: %v", err)
	}
	var all []pull
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	known := toolchains()
	var good []pull
	for _, p := range all {
		if _, ok := known[p.Language]; !ok || p.Category != "positive" {
			continue
		}
		delete(p.Environment.Env, "CARGO_HOME") // the image has one
		if p.Language == "rust" {               // those that are not declared are told as the runner has them
			for i, name := range p.Verified.FailingAnyway {
				p.Verified.FailingAnyway[i] = name[strings.LastIndex(name, "::")+2:]
			}
		}
		p.clone = filepath.Join(os.Getenv("ASSAYD_REPOS"), strings.Replace(p.Repo, "/", "+", 1), "repo")
		if _, err := os.Stat(p.clone); err != nil {
			t.Fatalf("ASSAYD_REPOS must name the folder with the clones (owner+name/repo): %v", err)
		}
		good = append(good, p)
	}
	if len(good) == 0 {
		t.Fatal("instances.json has no positive pull request in a language that is known here")
	}
	return good
}

// git runs a command on the clone.
func (p pull) git(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, "", "git", append([]string{"-c", "safe.directory=*", "--git-dir", p.clone}, args...)...)
}

// output runs a program of the host and returns what it printed.
func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, said.String(), out.String())
	}
	return out.String()
}

// sourcePatch is the reference patch: all of the pull request but its tests.
func (p pull) sourcePatch(t *testing.T) string {
	args := []string{"diff", "--full-index", "--binary", p.Base, p.Merge, "--", "."}
	for _, file := range p.TestFiles {
		args = append(args, ":(exclude,literal)"+file)
	}
	return p.git(t, args...)
}

// partOf is a fix without its last hunk; it is empty where the fix is one hunk.
func (p pull) partOf(patch string) string {
	type hunk struct{ file, text string }
	var hunks []hunk
	header := ""
	starts := regexp.MustCompile(`(?m)^(?:diff --git|@@) `).FindAllStringIndex(patch, -1)
	for i, at := range starts {
		end := len(patch)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if piece := patch[at[0]:end]; strings.HasPrefix(piece, "diff") {
			header = piece
		} else {
			hunks = append(hunks, hunk{header, piece})
		}
	}
	leftOut := len(hunks) - 1
	if p.ID == "spf13__pflag-484" || p.Language == "rust" {
		leftOut = 0 // the tests see nothing of the others, or it does not compile without them
	}
	var part strings.Builder
	header = ""
	for _, h := range slices.Delete(hunks, leftOut, leftOut+1) {
		if h.file != header {
			header = h.file
			part.WriteString(header)
		}
		part.WriteString(h.text)
	}
	return part.String()
}

// checkedOut is a folder with the files of the base commit.
func (p pull) checkedOut(t *testing.T) string {
	dir := t.TempDir()
	output(t, "", "git", "-c", "safe.directory=*", "clone", "--quiet", "--no-checkout", p.clone, dir)
	output(t, dir, "git", "checkout", "--quiet", "--detach", p.Base)
	return dir
}

func vendorModules(t *testing.T, p pull, dir string) {
	from := p.checkedOut(t)
	output(t, from, "go", "mod", "vendor")
	if _, err := os.Stat(filepath.Join(from, "vendor")); err == nil {
		place(t, filepath.Join(dir, "vendor"), from, "vendor")
	}
}

func installPackages(t *testing.T, p pull, dir string) {
	from := p.checkedOut(t)
	output(t, from, "npm", "install", "--omit=dev", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts")
	place(t, filepath.Join(dir, "node_modules"), from, "node_modules")
}

// place copies a folder below from.
func place(t *testing.T, to, from, name string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join(from, name))); err != nil {
		t.Fatal(err)
	}
}

// testCommand runs the tests that the pull request touches.
func (p pull) testCommand(c toolchain) string {
	if c.whole {
		return c.command
	}
	targets := slices.Clone(p.TestFiles)
	if c.folders {
		for i, file := range targets {
			targets[i] = "./" + path.Dir(file)
		}
		slices.Sort(targets)
		targets = slices.Compact(targets)
	}
	return c.command + " " + strings.Join(targets, " ")
}

// writeTask writes the folder that the task block of this pull request speaks of.
func (p pull) writeTask(t *testing.T, dir string) taskBlock {
	c := toolchains()[p.Language]
	b := taskBlock{pull: p, toolchain: c, Command: p.testCommand(c), Clone: p.clone, Exclude: slices.Clone(p.TestFiles), Env: p.Environment.Env}
	patch := p.sourcePatch(t)
	write(t, filepath.Join(dir, p.ID, "instruction.md"), p.git(t, "show", "--no-patch", "--format=%B", p.Merge))
	write(t, filepath.Join(dir, p.ID, "solution.patch"), patch)
	write(t, filepath.Join(dir, "agent", p.ID, "whole.patch"), patch)
	write(t, filepath.Join(dir, "agent", p.ID, "part.patch"), p.partOf(patch))
	for _, file := range p.TestFiles {
		write(t, filepath.Join(dir, p.ID, "judge", file), p.git(t, "show", p.Merge+":"+file))
	}
	if c.install != nil {
		c.install(t, p, filepath.Join(dir, p.ID, "work"))
	}
	if _, err := os.Stat(filepath.Join(dir, p.ID, "work")); err == nil {
		b.Modules = true
		b.Exclude = append(b.Exclude, c.modules+"/")
		if p.Language == "go" {
			b.Env = map[string]string{"GOFLAGS": "-mod=vendor"}
		}
	}
	return b
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// taskBlock is what the template of a task shows.
type taskBlock struct {
	pull
	toolchain
	Command, Clone string
	Exclude        []string
	Env            map[string]string
	Modules        bool // there is a folder "work"
}

// JSON writes a value as the language of the specs reads it.
func (taskBlock) JSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.NewReplacer("${", "$${", "%{", "%%{", "\n", "").Replace(b.String()), err
}

// agentScript submits the beginning of the fix, then all of it.
const agentScript = `set -e
cd /workspace
patches=/agent/$ASSAYD_TASK
if [ -s "$patches/part.patch" ]; then git apply "$patches/part.patch"; fi
assay-submit
if [ -s "$patches/part.patch" ]; then git apply -R "$patches/part.patch"; fi
git apply "$patches/whole.patch"
assay-submit
`

const specTemplate = `benchmark "{{.Name}}" {
{{range .Tasks}}
  task "{{.ID}}" {
    image       = "{{.Image}}"
    instruction = file("{{.ID}}/instruction.md")
    repo {
      url    = {{.JSON .Clone}}
      commit = "{{.Base}}"
    }
    submit {
      paths   = ["."]
      exclude = {{.JSON .Exclude}}
    }
    work {
      {{if .Modules}}context = "{{.ID}}/work"{{end}}
      env  = {{if .Env}}{{.JSON .Env}}{{else}}{}{{end}}
      cpus = 0.25
    }
    judge {
      context = "{{.ID}}/judge"
      command = {{.JSON .Command}}
      parser  = "{{.Parser}}"
      timeout = "5m"
      cpus    = 1
      decoys  = {{$.Decoys}}
    }
    solution {
      patch = "{{.ID}}/solution.patch"
    }
    fail_to_pass = {{.JSON .FailToPass}}
    pass_to_pass = {{.JSON .PassToPass}}
  }
{{end}}
}

agent "halfway" {
  dir     = "agent"
  command = ["/bin/sh", "/agent/agent.sh"]
}

run "real" {
  tasks     = [benchmark.{{.Name}}]
  timeout   = "20m"
  auto_eval = "0s"
  parallel  = {{.Parallel}}
  {{range .Agents}}
  agent "{{.}}" {}
  {{end}}
}
`

// realRun is a run over real pull requests.
type realRun struct {
	Agents   []string
	Parallel int
	Decoys   int // mixed runs of a round
}

// writeSpec makes a benchmark of the pull requests in dir and returns its file.
func writeSpec(t *testing.T, dir, name string, pulls []pull, run realRun) string {
	t.Helper()
	write(t, filepath.Join(dir, "agent", "agent.sh"), agentScript)
	var tasks []taskBlock
	for _, p := range pulls {
		tasks = append(tasks, p.writeTask(t, dir))
	}
	var spec strings.Builder
	err := template.Must(template.New("spec").Parse(specTemplate)).Execute(&spec, map[string]any{
		"Name": name, "Tasks": tasks, "Agents": run.Agents, "Parallel": run.Parallel, "Decoys": run.Decoys,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "real.hcl")
	write(t, file, spec.String())
	return file
}
