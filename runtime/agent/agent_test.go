package agent

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
)

var update = flag.Bool("update", false, "write the golden files anew")

func someTask() task.Task {
	return task.Task{
		Name: "one", Workdir: "/workspace", Instruction: "\n# Sort\n\nMake `sort.py` fast.\n\n", Network: task.Network{Mode: "none"},
		Submit: task.Submit{Paths: []string{"src/", "setup.py"}, Exclude: []string{"tests/", "*.log"}},
	}
}

func TestPrompt(t *testing.T) {
	open := someTask()
	open.Network.Mode, open.Submit = "open", task.Submit{Paths: []string{"."}}
	game := someTask()
	game.Instruction, game.Judge.Game = "Find the treasure.", "play"
	at := Setting{Trial: "r.e1.aaaaaaaa", JudgeURL: "http://127.0.0.1:7433", Max: 3, Cooldown: time.Minute, AutoEval: time.Minute}
	for _, tt := range []struct {
		name    string
		task    task.Task
		timeout time.Duration
		setting Setting
	}{
		{"game", game, time.Hour, at},
		{"plain", open, 12 * time.Hour, Setting{}},
		{"limited", someTask(), 90 * time.Minute, Setting{Max: 3, Cooldown: 2 * time.Minute, AutoEval: 5 * time.Minute}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			golden := filepath.Join("testdata", "prompt-"+tt.name+".md")
			got := Prompt(tt.task, tt.timeout, tt.setting)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run with -update if this is meant:\n%s", diff)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	a := Agent{Name: "mine", Model: "m", Env: map[string]string{"DEBUG": "1", "ASSAYD_MODEL": "mine"}}
	s := Setting{Trial: "r.e1.aaaaaaaa", Token: "secret", JudgeURL: "http://127.0.0.1:7433", PromptFile: "/run/assayd/prompt.md"}
	want := map[string]string{
		"ASSAYD_TRIAL": "r.e1.aaaaaaaa", "ASSAYD_TASK": "one", "ASSAYD_MODEL": "mine", "ASSAYD_PROMPT_FILE": "/run/assayd/prompt.md",
		"ASSAYD_JUDGE_URL": "http://127.0.0.1:7433", "ASSAYD_TOKEN": "secret",
		"SFORGE_JUDGE_URL": "http://127.0.0.1:7433", "SFORGE_TOKEN": "secret", "SFORGE_PATCH_DIR": "/workspace",
		"SFORGE_SUBMIT_PATHS": "src/ setup.py", "SFORGE_SUBMIT_EXCLUDE_FLAGS": "--exclude=tests --exclude=*.log", "DEBUG": "1",
		"ASSAYD_MODE": "iterative",
	}
	if diff := cmp.Diff(want, Environment(a, someTask(), s)); diff != "" {
		t.Error(diff)
	}
	if len(a.Env) != 2 {
		t.Error("the agent's own environment was changed")
	}
	names := someTask()
	names.Submit.Exclude = append(names.Submit.Exclude, "/tests/test_a.py", `/tests/test\[b\].py`, "test_c.py", "secret/x", "/own.py", "tests/test_d.py")
	s.Hidden = []string{"tests/test_a.py", "tests/test[b].py", "deep/test_c.py", "secret/", "sub/tests/test_d.py"}
	if got := Environment(a, names, s)["SFORGE_SUBMIT_EXCLUDE_FLAGS"]; got != "--exclude=tests --exclude=*.log --exclude=/own.py" {
		t.Errorf("hidden files are named: %q", got)
	}
	for _, single := range []bool{false, true} {
		s.Single = single
		if prompt := Prompt(names, time.Minute, s); strings.Contains(prompt, "test_a.py") || strings.Contains(prompt, "secret") || !strings.Contains(prompt, "`/own.py`") {
			t.Errorf("hidden files are named: %q", prompt)
		}
	}
	s.Single = true
	if got := Environment(a, someTask(), s)["ASSAYD_MODE"]; got != "single" {
		t.Errorf("the mode is %q", got)
	}
	game := someTask()
	game.Judge.Game = "play"
	if got := Environment(a, game, s)["GAME_SERVER_URL"]; got != "http://127.0.0.1:7433/api/v1/game/r.e1.aaaaaaaa/one" {
		t.Errorf("the game is at %q", got)
	}
}

func TestBuiltin(t *testing.T) {
	for _, name := range []string{Oracle, Nop} {
		a, ok := Builtin(name, "/guest")
		if diff := cmp.Diff([]string{"/guest", name}, a.Command.Args()); !ok || diff != "" || a.Title() != name || a.Solves() != (name == Oracle) {
			t.Errorf("%s: %v %+v", name, ok, a)
		}
	}
	if _, ok := Builtin("mine", "/guest"); ok {
		t.Error("an agent that nobody built in")
	}
	if (Agent{Name: Oracle, Dir: task.Tree{Digest: "d"}}).Solves() {
		t.Error("a declared agent under the oracle's name is handed the solution")
	}
	if got := (Agent{Name: "mine", Label: "twice"}).Title(); got != "twice" {
		t.Errorf("title %q", got)
	}
}

// entry is one member of a snapshot.
type entry struct {
	kind   byte
	name   string
	target string // content, or what a link leads to
	mode   int64
}

// snapshot is a blob store with one tree, "d".
func snapshot(t *testing.T, entries ...entry) func(string) (io.ReadCloser, error) {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Mode: e.mode}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.target))
		} else {
			h.Linkname = e.target
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(w, e.target); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return func(digest string) (io.ReadCloser, error) {
		if digest != "d" {
			return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
		}
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}
}

// below lists files as "mode name=content", "name/" and "name -> target".
func below(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		switch {
		case err != nil || name == "":
			return err
		case d.IsDir():
			found = append(found, name+"/")
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found = append(found, name+" -> "+target)
			return err
		default:
			info, ierr := d.Info()
			content, rerr := os.ReadFile(path)
			if err := errors.Join(ierr, rerr); err != nil {
				return err
			}
			found = append(found, fmt.Sprintf("%o %s=%s", info.Mode(), name, content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestStage(t *testing.T) {
	tree := snapshot(t, entry{tar.TypeDir, "bin/", "", 0o700}, entry{tar.TypeReg, "bin/run", "x", 0o4711}, entry{tar.TypeReg, "deep/er/f", "y", 0o600}, entry{tar.TypeSymlink, "link", "bin/run", 0})
	files := []string{"bin/", "755 bin/run=x", "deep/", "deep/er/", "644 deep/er/f=y", "link -> bin/run"}
	under := []string{"tree/", "tree/bin/", "755 tree/bin/run=x", "tree/deep/", "tree/deep/er/", "644 tree/deep/er/f=y", "tree/link -> bin/run"}
	oracle, _ := Builtin(Oracle, "/guest")
	for _, tt := range []struct {
		name     string
		agent    Agent
		solution *task.Solution
		want     []string
	}{
		{"an agent's folder", Agent{Name: "mine", Dir: task.Tree{Digest: "d"}}, nil, files},
		{"no folder", Agent{Name: "mine"}, &task.Solution{Script: "secret"}, nil},
		{"a tree for the oracle", oracle, &task.Solution{Context: task.Tree{Digest: "d"}}, under},
		{"a patch for the oracle", oracle, &task.Solution{Patch: []byte("--- a")}, []string{"644 solution.patch=--- a"}},
		{"a script for the oracle", oracle, &task.Solution{Script: "true"}, []string{"644 solution.sh=true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, problem := t.TempDir(), someTask()
			problem.Solution = tt.solution
			if err := Stage(dir, tt.agent, problem, tree); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, below(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := Stage(t.TempDir(), oracle, someTask(), tree); err == nil {
		t.Error("an oracle without a solution")
	}
	if err := Stage(t.TempDir(), Agent{Dir: task.Tree{Digest: "e"}}, someTask(), tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a snapshot that is not there: %v", err)
	}
}

// TestStageStaysInside: nothing in a snapshot reaches beyond the folder.
func TestStageStaysInside(t *testing.T) {
	for name, entries := range map[string][]entry{
		"a parent":                {{tar.TypeReg, "../outside", "x", 0o644}},
		"a parent further down":   {{tar.TypeReg, "a/../../outside", "x", 0o644}},
		"an absolute name":        {{tar.TypeReg, "/outside", "x", 0o644}},
		"a folder above":          {{tar.TypeDir, "../outside/", "", 0o755}},
		"through a link":          {{tar.TypeSymlink, "l", "..", 0}, {tar.TypeReg, "l/outside", "x", 0o644}},
		"through an absolute one": {{tar.TypeSymlink, "l", "/", 0}, {tar.TypeReg, "l/outside", "x", 0o644}},
		"over a link":             {{tar.TypeSymlink, "l", "../outside", 0}, {tar.TypeReg, "l", "x", 0o644}},
		"a link above":            {{tar.TypeSymlink, "../outside", "x", 0}},
		"a hard link":             {{tar.TypeLink, "h", "/etc/passwd", 0}},
		"a device":                {{tar.TypeChar, "dev", "", 0o666}},
		"a pipe":                  {{tar.TypeFifo, "pipe", "", 0o666}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "agent")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := Stage(dir, Agent{Dir: task.Tree{Digest: "d"}}, someTask(), snapshot(t, entries...)); err == nil {
				t.Error("it was unpacked")
			}
			all, err := os.ReadDir(parent)
			if err != nil || len(all) != 1 {
				t.Errorf("beside the folder: %v, %v", all, err)
			}
			if _, err := os.Lstat("/outside"); err == nil {
				t.Error("there is a file at the root")
			}
		})
	}
}
