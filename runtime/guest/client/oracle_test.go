//go:build linux

package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const solutionPatch = `diff --git a/old.txt b/old.txt
--- a/old.txt
+++ b/old.txt
@@ -1 +1 @@
-old
+new
`

func TestTheOracleAppliesTheSolutionAndSubmitsIt(t *testing.T) {
	solution, work := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"tree/bin/run": "#!/bin/sh\n", "tree/file": "solved\n", "tree/was-link": "mine", "solution.patch": solutionPatch,
		"solution.sh": "cat old.txt >seen.txt\n",
	} {
		write(t, filepath.Join(solution, name), text)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "untouched")
	write(t, filepath.Join(work, "old.txt"), "old\n")
	write(t, filepath.Join(work, "file"), "unsolved, and longer\n")
	for _, err := range []error{
		os.Chmod(filepath.Join(solution, "tree/bin/run"), 0o755),
		os.Symlink("file", filepath.Join(solution, "tree/link")),
		os.Symlink(outside, filepath.Join(work, "was-link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := newCourt(t)
	c.env["SFORGE_PATCH_DIR"] = work
	t.Chdir(work)
	if err := oracle(t.Context(), solution, c.submitter()); err != nil {
		t.Fatal(err)
	}
	want := "0 755 bin/run #!/bin/sh\n0 644 file solved\n2 777 link file\n0 644 old.txt new\n0 644 seen.txt new\n0 644 was-link mine"
	got := strings.Join(c.archives[0][1:], "\n")
	if got != want {
		t.Errorf("submitted\n%s\nwant\n%s", got, want)
	}
	if got := read(t, outside); got != "untouched" {
		t.Errorf("written through a link: %q", got)
	}
}

func TestAPatchIsAppliedBelowARepositoryToo(t *testing.T) {
	solution, repo := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("this test needs git: %v %s", err, out)
	}
	work := filepath.Join(repo, "sub")
	write(t, filepath.Join(work, "old.txt"), "old\n")
	write(t, filepath.Join(solution, "solution.patch"), solutionPatch)
	c := newCourt(t)
	c.env["SFORGE_PATCH_DIR"] = work
	t.Chdir(work)
	if err := oracle(t.Context(), solution, c.submitter()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(work, "old.txt")); got != "new\n" {
		t.Errorf("old.txt holds %q", got)
	}
}

func TestAnOracleThatCannotSolveSubmitsNothing(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, path, err string }{
		"no solution":            {"readme", "", os.Getenv("PATH"), "no solution in"},
		"a patch that is broken": {"solution.patch", solutionPatch, os.Getenv("PATH"), "git"},
		"no tool for a patch":    {"solution.patch", solutionPatch, "/nowhere", "neither git nor patch"},
		"a script that fails":    {"solution.sh", "exit 3", os.Getenv("PATH"), "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			solution := t.TempDir()
			write(t, filepath.Join(solution, tt.file), tt.text)
			t.Chdir(t.TempDir())
			t.Setenv("PATH", tt.path)
			c := newCourt(t)
			if err := oracle(t.Context(), solution, c.submitter()); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if len(c.keys) > 0 {
				t.Error("something was submitted")
			}
		})
	}
}

func TestInAGameTheSolutionPlays(t *testing.T) {
	solution, work := t.TempDir(), t.TempDir()
	write(t, filepath.Join(solution, "solution.sh"), "echo \"$GAME_SERVER_URL\" >played\n")
	c := newCourt(t)
	c.env["GAME_SERVER_URL"] = "http://here"
	t.Setenv("GAME_SERVER_URL", "http://here")
	t.Chdir(work)
	if err := oracle(t.Context(), solution, c.submitter()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(work, "played")); got != "http://here\n" || len(c.keys) != 0 {
		t.Errorf("played %q, with %d submissions", got, len(c.keys))
	}
}
