package trial

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/record"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// A daemon that was started again has no session that knows what the agent asked for: the
// transcript does.
func TestWhatWasAskedOfModelsSurvivesTheDaemon(t *testing.T) {
	m := New(Host{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Patches: patch.New(t.TempDir())}, "t1", "run.r")
	s := State{ID: "t1", Spec: "run.r", Try: 1, StartedAt: began, Cell: Cell{Agent: agent.Agent{Name: "a", Model: "m"}}}
	dir := trydir.Of(m.host.StateDir, s.ID, s.Try).Path()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := `{"n":1,"request":{"protocol":"messages","model":"dear"}}
{"n":1,"response":{"status":200}}
{"n":2,"request":{"protocol":"messages","model":"m"}}
{"n":2,"response":{"status":400,"denied":"the tool web_search"}}
`
	if err := os.WriteFile(filepath.Join(dir, trydir.TranscriptFile), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	begun(t, m.host, s, nil)
	flags, effects := m.host.Scan(t.Context(), s, nil)
	want := record.Flagged{Trial: "t1", Try: 1, Flags: []string{"cheat:models", "cheat:web_tools"}, Findings: []record.Finding{
		{Rule: "web_tools", Where: "exchange 2", Evidence: "asked the provider for the tool web_search, which was refused"},
		{Rule: "models", Where: "exchange 1", Evidence: "asked for the model dear"},
	}}
	if !slices.Equal(flags, want.Flags) {
		t.Errorf("flags are %v, want %v", flags, want.Flags)
	}
	if diff := cmp.Diff([]Effect{{"trial.flagged", want}}, effects); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
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
	_, err := h.Patches.Base(t.Context(), worktree.BaseKey(s.Cell.Task, s.WorkImage.ID), func() (io.ReadCloser, error) {
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
		{name: "what a judge leaves out of an archive", best: map[string]string{"a.py": "x = 2\n"}, final: map[string]string{"a.py": "x = 1\n"}},
		{name: "a patch that lacks what a judge leaves out", patch: "diff --git a/conftest.py b/conftest.py\ndeleted file mode 100644\n--- a/conftest.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-import pytest\ndiff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\nindex 1111111..0000000\n"},
		{name: "and then one that it has", patch: "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/sub/conftest.py b/sub/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/sub/conftest.py\n@@ -0,0 +1 @@\n+x\n", want: []string{"cheat:judge_paths"}},
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
			var subs []round.Submission
			if tt.best != nil {
				blobs["b"] = archived(t, tt.best)
				f.Best = &Best{Round: "agent-1"}
				subs = append(subs, round.Submission{Try: 1, Round: "agent-1", Archive: "b"})
			}
			if tt.final != nil {
				blobs["f"] = archived(t, tt.final)
				s.FinalRound = "final-1"
				subs = append(subs, round.Submission{Try: 1, Round: "final-1", Archive: "f"})
			}
			for name, text := range map[string]string{trydir.Of(m.host.StateDir, s.ID, 1).Log(): tt.log, trydir.Of(m.host.StateDir, s.ID, 1).Patch(): tt.patch} {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.Result = &f
			flags, effects := m.host.Scan(t.Context(), s, subs)
			if !slices.Equal(flags, tt.want) || len(effects) != min(len(tt.want), 1) {
				t.Errorf("flags are %v, want %v: %+v", flags, tt.want, effects)
			}
		})
	}
}

// Where not all was looked at, no finding is no clean record: it says so itself, in one line.
func TestWhatCouldNotBeLookedAtIsInTheRecord(t *testing.T) {
	tree := map[string]string{"a.py": "x = 1\n"}
	cheats := archived(t, map[string]string{"conftest.py": "x\n"})
	directory := func(t *testing.T, name string) {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	type world struct {
		host *Host
		stop context.CancelFunc // of the look
	}
	for _, tt := range []struct {
		name    string
		spoil   func(*testing.T, *world)
		archive func(w *world, digest string) (io.ReadCloser, error) // of the round that counts, "b", and the last one, "f"
		flags   []string
		want    []string // what the line says; nil = there is none
	}{
		{name: "all of it", flags: []string{"cheat:judge_paths"}},
		{
			name: "a transcript", flags: []string{"cheat:judge_paths"}, want: []string{"look through the transcript: "},
			spoil: func(t *testing.T, w *world) {
				directory(t, filepath.Join(trydir.Of(w.host.StateDir, "t1", 1).Path(), trydir.TranscriptFile))
			},
		},
		{
			name: "a log that cannot be opened", flags: []string{"cheat:judge_paths"}, want: []string{"open the log: "},
			spoil: func(t *testing.T, w *world) {
				log := trydir.Of(w.host.StateDir, "t1", 1).Log()
				directory(t, filepath.Dir(log))
				if err := os.Symlink(log, log); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "the tree that it began with", want: []string{"read the tree of image work:1: "},
			spoil: func(t *testing.T, w *world) {
				name := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				w.host.Patches = patch.New(name)
			},
		},
		{
			name: "the archive that counts", flags: []string{"cheat:judge_paths"}, want: []string{"open the archive of agent-1: "},
			archive: func(_ *world, digest string) (io.ReadCloser, error) {
				if digest == "b" {
					return nil, errors.New("no\nsuch\nblob")
				}
				return io.NopCloser(bytes.NewReader(cheats)), nil
			},
		},
		{
			name: "one that is damaged", want: []string{"archive of final-1: "},
			archive: func(_ *world, digest string) (io.ReadCloser, error) {
				if digest == "f" {
					return io.NopCloser(strings.NewReader(strings.Repeat("no tar", 1000))), nil
				}
				return io.NopCloser(bytes.NewReader(archived(t, tree))), nil
			},
		},
		{
			name: "what there was no time for", want: []string{"archive of final-1: ", context.Canceled.Error()},
			archive: func(w *world, digest string) (io.ReadCloser, error) {
				if digest == "f" {
					w.stop()
				}
				return io.NopCloser(bytes.NewReader(archived(t, tree))), nil
			},
		},
		{
			name: "more than fits into a line", want: []string{"open the archive of agent-1: no; no; no; "},
			archive: func(*world, string) (io.ReadCloser, error) { return nil, errors.New(strings.Repeat("no\n", 5000)) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			archive := tt.archive
			if archive == nil {
				archive = func(*world, string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(cheats)), nil }
			}
			m := New(Host{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Patches: patch.New(t.TempDir())}, "t1", "run.r")
			w := &world{&m.host, stop}
			m.host.OpenBlob = func(digest string) (io.ReadCloser, error) { return archive(w, digest) }
			s := State{ID: "t1", Spec: "run.r", Try: 1, StartedAt: began, FinalRound: "final-1", WorkImage: ImageRef{Ref: "work:1"}, Cell: Cell{Agent: agent.Agent{Name: "a"}}}
			s.Cell.Task.Workdir, s.Cell.Task.Submit = "/work", task.Submit{Paths: []string{"."}}
			begun(t, m.host, s, tree)
			if tt.spoil != nil {
				tt.spoil(t, w)
			}
			f := Finished{Best: &Best{Round: "agent-1"}}
			subs := []round.Submission{{Try: 1, Round: "agent-1", Archive: "b"}, {Try: 1, Round: "final-1", Archive: "f"}}
			var lines []string
			s.Result = &f
			flags, effects := m.host.Scan(ctx, s, subs)
			for _, e := range effects {
				if h, ok := e.Fields.(record.Happened); ok && h.Event == "cheat_scan_incomplete" {
					lines = append(lines, h.Detail)
				}
			}
			if !slices.Equal(flags, tt.flags) {
				t.Errorf("flags are %v, want %v", flags, tt.flags)
			}
			if len(lines) != min(len(tt.want), 1) {
				t.Fatalf("the record says %q, want one line with %q", lines, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(lines[0], want) || strings.Contains(lines[0], "\n") || len(lines[0]) > 2000 {
					t.Errorf("the record says %q, want %q in one bounded line", lines[0], want)
				}
			}
		})
	}
}
