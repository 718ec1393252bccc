package scan

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// subject is an ended try that began with an empty tree.
func subject(t *testing.T) (Scanner, Subject) {
	t.Helper()
	c := Scanner{
		Trees:    worktree.Reader{Patches: patch.New(t.TempDir())},
		OpenBlob: func(digest string) (io.ReadCloser, error) { return nil, os.ErrNotExist },
	}
	of := Subject{Dir: trydir.Of(t.TempDir(), "t1", 1), Model: "m", WorkID: "work"}
	if err := os.MkdirAll(of.Dir.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := c.Trees.Patches.Base(t.Context(), worktree.BaseKey(of.Task, of.WorkID), func() (io.ReadCloser, error) {
		var empty bytes.Buffer
		return io.NopCloser(&empty), tar.NewWriter(&empty).Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, of
}

func TestATranscriptIsLookedAt(t *testing.T) {
	c, of := subject(t)
	if err := os.WriteFile(of.Dir.Transcript(), []byte(`{"n":1,"request":{"protocol":"messages","model":"dear"}}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := c.Scan(t.Context(), of, nil)
	if err != nil || len(found) != 1 || found[0].Rule != "models" {
		t.Errorf("%+v, %v", found, err)
	}
}

// No finding is no clean record where something could not be read.
func TestAnArchiveThatIsGoneIsTold(t *testing.T) {
	c, of := subject(t)
	of.Round = "agent-1"
	found, err := c.Scan(t.Context(), of, []round.Submission{{Round: "agent-1", Archive: "digest"}})
	if err == nil || !strings.Contains(err.Error(), "agent-1") || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
