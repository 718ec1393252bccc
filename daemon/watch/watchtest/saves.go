package watchtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Save is one way to give a file that is there a new text.
type Save struct {
	Name string
	// Do returns when the file has the text, and all that was made beside it on the way is
	// gone, or has a name that it keeps.
	Do func(t testing.TB, path, text string)
}

// Saves are the ways of editors and tools. Those of vim, sed, rsync and cp are the
// programs' own. Emacs and VS Code are too large for a test machine: their system calls are
// made here one by one.
func Saves() []Save {
	return []Save{
		{"vim, which renames the file to its backup", vim("backupcopy=no", "writebackup", "nobackup")},
		{"vim, which keeps backups", vim("backupcopy=no", "backup")},
		{"vim, which copies to its backup", vim("backupcopy=yes", "writebackup")},
		{"emacs", emacs},
		{"VS Code, in place", inPlace},
		{"VS Code, atomically", func(t testing.TB, path, text string) {
			inPlace(t, path+".vsctmp", text)
			must(t, os.Rename(path+".vsctmp", path))
		}},
		{"sed -i", from(func(source, path string) []string {
			return []string{"sed", "-i", "-e", "1{r " + source, "-e", "d", "-e", "}", "-e", "d", path}
		})},
		{"rsync", from(func(source, path string) []string {
			return []string{"rsync", "--archive", "--ignore-times", source, path}
		})},
		{"rsync --inplace", from(func(source, path string) []string {
			return []string{"rsync", "--archive", "--ignore-times", "--inplace", source, path}
		})},
		{"rsync --delay-updates of the folder", rsyncFolder},
		{"cp over it", from(func(source, path string) []string { return []string{"cp", source, path} })},
		{"mv over it", from(func(source, path string) []string { return []string{"mv", source, path} })},
		{"a shell's redirection, in pieces", pieces},
		{"a text that is appended in pieces to an emptied file", func(t testing.TB, path, text string) {
			must(t, os.Truncate(path, 0))
			program(t, "sh", "-c", `sleep 0.15; printf %s "$1" >>"$3"; sleep 0.15; printf %s "$2" >>"$3"`, "sh", text[:len(text)/2], text[len(text)/2:], path)
		}},
	}
}

// from gives a program the text in a file of its own, in another folder.
func from(argv func(source, path string) []string) func(t testing.TB, path, text string) {
	return func(t testing.TB, path, text string) {
		t.Helper()
		source := filepath.Join(t.TempDir(), "source")
		put(t, source, text)
		all := argv(source, path)
		program(t, all[0], all[1:]...)
	}
}

// vim replaces all lines in the buffer and writes it.
func vim(options ...string) func(t testing.TB, path, text string) {
	return func(t testing.TB, path, text string) {
		t.Helper()
		name := "vim"
		if _, err := exec.LookPath(name); err != nil {
			name = "vim.tiny"
		}
		from(func(source, path string) []string {
			return []string{
				name, "-N", "-u", "NONE", "-i", "NONE", "-e", "-s", "-c", "set " + strings.Join(options, " "),
				"-c", "silent 0read " + source, "-c", "silent .+1,$delete _", "-c", "wq", path,
			}
		})(t, path, text)
		_ = os.Remove(path + "~") // made by some of them, and not renamed over a second time by all
	}
}

// emacs locks the file with a link to nowhere, saves the buffer aside while one types, moves
// the old file to its backup and writes a new one.
func emacs(t testing.TB, path, text string) {
	t.Helper()
	dir, name := filepath.Split(path)
	lock, auto := filepath.Join(dir, ".#"+name), filepath.Join(dir, "#"+name+"#")
	must(t, os.Symlink("someone@host.4711:1700000000", lock))
	put(t, auto, text[:len(text)/2])
	must(t, os.Rename(path, path+"~"))
	inPlace(t, path, text)
	must(t, os.Chmod(path, 0o644))
	must(t, errors.Join(os.Remove(lock), os.Remove(auto)))
}

// inPlace empties the file, writes, and flushes.
func inPlace(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Sync(), f.Close()))
}

// pieces empties the file at once and writes it in three, at moments at which anybody who
// only waits for a little quiet takes a part for the whole.
func pieces(t testing.TB, path, text string) {
	t.Helper()
	third := len(text) / 3
	program(t, "sh", "-c", `{ sleep 0.15; printf %s "$1"; sleep 0.15; printf %s "$2"; sleep 0.15; printf %s "$3"; } >"$4"`,
		"sh", text[:third], text[third:2*third], text[2*third:], path)
}

// rsyncFolder brings the file's folder up to date as a deployment does.
func rsyncFolder(t testing.TB, path, text string) {
	t.Helper()
	source := t.TempDir()
	put(t, filepath.Join(source, filepath.Base(path)), text)
	program(t, "rsync", "--recursive", "--times", "--ignore-times", "--delay-updates", source+"/", filepath.Dir(path)+"/")
}

// program runs a program that must be there and succeed.
func program(t testing.TB, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%v: run contrib/setup", err)
	}
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
