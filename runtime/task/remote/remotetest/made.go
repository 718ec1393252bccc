package remotetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Tar packs files by path; what begins with -> is a link.
func Tar(tb testing.TB, files map[string]string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, target, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Gzip packs bytes.
func Gzip(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Repository is a Git repository in a folder.
type Repository struct {
	tb  testing.TB
	Dir string
}

// NewRepository makes one without a commit, on the branch main.
func NewRepository(tb testing.TB) *Repository {
	tb.Helper()
	r := &Repository{tb, tb.TempDir()}
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// URL is where it can be fetched from.
func (r *Repository) URL() string { return "file://" + r.Dir }

// Git runs a command in it and returns what it says.
func (r *Repository) Git(args ...string) string {
	r.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit writes files by path and makes a commit of them; it returns its hash.
func (r *Repository) Commit(files map[string]string) string {
	r.tb.Helper()
	for name, text := range files {
		name = filepath.Join(r.Dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--message=x")
	return r.Git("rev-parse", "HEAD")
}
