package gitsync

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResultsAreExcludedFromTheUsersOwnCheckouts(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	o, sub := newOrigin(t), newOrigin(t)
	sub.commit(texts{"x": "1"})
	o.commit(texts{"specs/a.hcl": "1", "data.jsonl": "tracked"})
	o.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
	o.commit(nil)
	linked := filepath.Join(filepath.Dir(o.dir), "linked")
	o.git("worktree", "add", "--quiet", "-b", "linked", linked)
	local := filepath.Join(o.dir, ".git", "info", "exclude")
	if err := os.WriteFile(local, []byte("mine\n*.status.jsonl"), 0o644); err != nil { // no newline at its end
		t.Fatal(err)
	}
	folders := []string{filepath.Join(o.dir, "specs"), o.dir, filepath.Join(o.dir, "sub"), linked, t.TempDir(), "/nowhere"}
	Exclude(folders, log)
	Exclude(folders, log) // once
	for _, dir := range []string{filepath.Join(o.dir, "specs"), filepath.Join(o.dir, "sub"), linked} {
		for _, name := range []string{"a.run.nightly.jsonl", "a.run.nightly.2.jsonl", "a.status.jsonl", "a.status.2.jsonl"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.git("-C", dir, "status", "--porcelain"); got != "" {
			t.Errorf("%s is dirty: %s", dir, got)
		}
		if err := os.WriteFile(filepath.Join(dir, "cases.jsonl"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := o.git("-C", dir, "status", "--porcelain"); !strings.Contains(got, "cases.jsonl") {
			t.Errorf("%s: a data file is hidden: %q", dir, got)
		}
	}
	text, err := os.ReadFile(local)
	if err != nil || !strings.HasPrefix(string(text), "mine\n*.status.jsonl\n") || strings.Count(string(text), "*.run.*.jsonl") != 1 || strings.Count(string(text), "*.status.jsonl") != 1 {
		t.Errorf("the local exclude is %q, %v", text, err)
	}
}
