package trial

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// A daemon that was started again has no session that knows what the agent asked for: the
// transcript does.
func TestWhatWasAskedOfModelsSurvivesTheDaemon(t *testing.T) {
	m := New(Host{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Patches: patch.New(t.TempDir())}, "t1", "run.r")
	s := State{ID: "t1", Spec: "run.r", Try: 1, StartedAt: began, Cell: Cell{Agent: agent.Agent{Name: "a", Model: "m"}}}
	dir := tryDir(m.host.StateDir, s.ID, s.Try)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := `{"n":1,"request":{"protocol":"messages","model":"dear"}}
{"n":1,"response":{"status":200}}
{"n":2,"request":{"protocol":"messages","model":"m"}}
{"n":2,"response":{"status":400,"denied":"the tool web_search"}}
`
	if err := os.WriteFile(filepath.Join(dir, TranscriptFile), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	begun(t, m.host, s, nil)
	var f Finished
	effects := m.conduct(t.Context(), s, nil, &f)
	if want := []string{"cheat:models", "cheat:web_tools"}; !slices.Equal(f.Flags, want) {
		t.Errorf("flags are %v, want %v", f.Flags, want)
	}
	var details []string
	for _, e := range effects {
		details = append(details, e.Fields.(Happened).Detail)
	}
	want := []string{
		"web_tools (exchange 2): asked the provider for the tool web_search, which was refused",
		"models (exchange 1): asked for the model dear",
	}
	if !slices.Equal(details, want) {
		t.Errorf("records say %q, want %q", details, want)
	}
}

// archived is a tree as it is submitted.
func archived(t *testing.T, tree map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range tree {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// begun has the tree kept that the agent of a trial begins with.
func begun(t *testing.T, h Host, s State, tree map[string]string) {
	t.Helper()
	_, err := h.Patches.Base(t.Context(), baseKey(s.Cell.Task, s.WorkImage), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archived(t, tree))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is submitted is looked at in both modes, against what the agent began with: that is no
// secret, and none of its doing.
func TestWhatIsHandedInIsLookedAt(t *testing.T) {
	tree := map[string]string{"a.py": "x = 1\n", "conftest.py": "import pytest\n", "tests/test_a.py": "old\n"}
	with := func(name, text string) map[string]string {
		after := maps.Clone(tree)
		after[name] = text
		return after
	}
	const exits = "import atexit, os\natexit.register(lambda: os._exit(0))\n"
	for _, tt := range []struct {
		name        string
		best, final map[string]string
		patch       string
		log         string
		want        []string
	}{
		{name: "an honest one", best: with("a.py", "x = 2\n"), log: "$ cat tests/test_a.py\n"},
		{name: "a hidden test", best: tree, log: "$ cat tests/test_b.py\n", want: []string{"cheat:judge_paths"}},
		{name: "a file that steers the runner", best: with("sub/conftest.py", "x\n"), final: tree, want: []string{"cheat:judge_paths"}},
		{name: "in a round that does not count", best: tree, final: with("sub/conftest.py", "x\n"), want: []string{"cheat:judge_paths"}},
		{name: "a round like what the agent began with", best: with("a.py", "x = 2\n"), final: tree},
		{name: "in the last round, where no other counts", final: with("sub/conftest.py", "x\n"), want: []string{"cheat:judge_paths"}},
		{name: "code that ends the runner", best: with("a.py", exits), want: []string{"cheat:result_markers"}},
		{name: "a patch", patch: "diff --git a/conftest.py b/conftest.py\n--- a/conftest.py\n+++ b/conftest.py\n@@ -1 +1 @@\n-import pytest\n+y\n", want: []string{"cheat:judge_paths"}},
		{name: "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blobs := map[string][]byte{}
			m := New(Host{
				StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Patches: patch.New(t.TempDir()),
				OpenBlob: func(digest string) (io.ReadCloser, error) {
					if blob, ok := blobs[digest]; ok {
						return io.NopCloser(bytes.NewReader(blob)), nil
					}
					return nil, fs.ErrNotExist
				},
			}, "t1", "run.r")
			s := State{ID: "t1", Spec: "run.r", Try: 1, StartedAt: began, Hidden: []string{"tests/test_a.py", "tests/test_b.py"}, Cell: Cell{Agent: agent.Agent{Name: "a", Model: "m"}}}
			s.Cell.Task.Workdir, s.Cell.Task.Submit = "/work", task.Submit{Paths: []string{"."}}
			begun(t, m.host, s, tree)
			var f Finished
			var subs []judge.Submission
			if tt.best != nil {
				blobs["b"] = archived(t, tt.best)
				f.Best = &Best{Round: "agent-1"}
				subs = append(subs, judge.Submission{Try: 1, Round: "agent-1", Archive: "b"})
			}
			if tt.final != nil {
				blobs["f"] = archived(t, tt.final)
				s.FinalRound = "final-1"
				subs = append(subs, judge.Submission{Try: 1, Round: "final-1", Archive: "f"})
			}
			for name, text := range map[string]string{LogFile(m.host.StateDir, s.ID, 1): tt.log, PatchFile(m.host.StateDir, s.ID, 1): tt.patch} {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			effects := m.conduct(t.Context(), s, subs, &f)
			if !slices.Equal(f.Flags, tt.want) {
				t.Errorf("flags are %v, want %v: %+v", f.Flags, tt.want, effects)
			}
		})
	}
}
