package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSystemdAcceptsTheUnits runs systemd's own check on a copy of the units with a
// program in the place of assayd. Unknown keys and bad values are mere warnings to it,
// so any word is a failure.
func TestSystemdAcceptsTheUnits(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "assayd")
	put(t, program, "#!/bin/sh\n", 0o755)
	var units []string
	for _, name := range []string{"assayd.service", "assayd.socket"} {
		unit := filepath.Join(dir, name)
		put(t, unit, strings.ReplaceAll(systemdFile(t, name), "/usr/local/bin/assayd", program), 0o644)
		units = append(units, unit)
	}
	silent(t, "systemd-analyze", append([]string{"verify"}, units...)...)
}

func TestSystemdCheckSeesAnError(t *testing.T) {
	unit := filepath.Join(t.TempDir(), "assayd.service")
	put(t, unit, "[Service]\nExecStart=/bin/true\nWatchdogSeconds=60\n", 0o644)
	if out, _ := exec.CommandContext(t.Context(), tool(t, "systemd-analyze"), "verify", unit).CombinedOutput(); len(out) == 0 {
		t.Error("systemd-analyze says nothing about a key that there is not")
	}
}

// TestSystemdAcceptsTheFolders reads the user and folder declarations as if for another
// root. Cleaning changes nothing there, since none of them has an age.
func TestSystemdAcceptsTheFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "etc", "passwd"), "root:x:0:0:root:/root:/bin/sh\n", 0o644)
	put(t, filepath.Join(dir, "etc", "group"), "root:x:0:\nassayd:x:990:\n", 0o644)
	systemd := filepath.Join(root(t), "systemd")
	silent(t, "systemd-sysusers", "--root="+dir, "--dry-run", filepath.Join(systemd, "sysusers.d", "assayd.conf"))
	silent(t, "systemd-tmpfiles", "--root="+dir, "--clean", filepath.Join(systemd, "tmpfiles.d", "assayd.conf"))
}

// silent runs a tool of systemd and fails on any word it says.
func silent(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), tool(t, name), args...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: install the package systemd (it need not run), or run contrib/setup", err)
	}
	return path
}

func systemdFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
