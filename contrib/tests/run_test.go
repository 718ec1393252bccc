package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// counts is what each package below begins with: it notes each of its runs.
const counts = `package p

import ("os"; "path/filepath"; "testing")

func TestGood(*testing.T) {
	f, err := os.CreateTemp(os.Getenv("RUNS"), "run")
	if err != nil { panic(err) }
	f.Close()
	_ = filepath.Join
}
`

const (
	fails  = `func TestFails(t *testing.T) { t.Fatal("no luck") }`
	leaks  = `func TestMain(m *testing.M) { m.Run(); os.Stdout.WriteString("it leaks\n"); os.Exit(1) }`
	panics = `func TestPanics(t *testing.T) { panic("no luck") }`
	hangs  = `func TestHangs(t *testing.T) { <-make(chan int) }`
	broken = `func TestBroken(t *testing.T) { undefined() }`
)

func TestEachTestRunsOnce(t *testing.T) {
	tool := gotestsum(t)
	for _, c := range []struct {
		name     string
		packages map[string]string // what each has beside a good test
		locked   bool              // the engine is
		passes   bool
		says     []string // each a pattern
	}{
		{"nothing bad", map[string]string{"a": "", "b": ""}, false, true, []string{`(?m)^ +0\.\d\d min  x/a$`, `(?m)^ +0\.\d\d min  x/b$`}},
		{"a test that fails", map[string]string{"a": fails, "b": ""}, false, false, []string{`FAIL: a TestFails`, `(?m) min  x/a$`, `(?m) min  x/b$`}},
		{"a package that fails by itself", map[string]string{"a": leaks, "b": ""}, false, false, []string{`it leaks`}},
		{"a process that dies", map[string]string{"a": panics}, false, false, []string{`no luck`}},
		{"a process that takes too long", map[string]string{"a": hangs}, false, false, []string{`TestHangs`}},
		{"what does not compile", map[string]string{"a": broken, "b": ""}, false, false, []string{`undefined: undefined`}},
		{"an engine that is locked up", map[string]string{"a": fails}, true, false, []string{`the engine is locked up.*contrib/docker/up --again`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, runs := scratch(t, c.packages, c.locked), t.TempDir()
			cmd := exec.Command(filepath.Join(dir, "contrib/tests/run"), tool, "-timeout", "10s")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "RUNS="+runs, "PACKAGES=./...", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GOTESTSUM_JSONFILE=")
			out, err := cmd.CombinedOutput()
			if passes := err == nil; passes != c.passes {
				t.Errorf("it passes: %t, want %t (%v)", passes, c.passes, err)
			}
			for _, pattern := range c.says {
				if !regexp.MustCompile(pattern).Match(out) {
					t.Errorf("it does not say %s", pattern)
				}
			}
			if all, err := os.ReadDir(runs); err != nil || len(all) > len(c.packages) {
				t.Errorf("%d packages were run %d times (%v)", len(c.packages), len(all), err)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// gotestsum builds the version that the Makefile pins.
func gotestsum(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^SUM_VERSION\s*:=\s*(\S+)$`).FindSubmatch(makefile)
	if version == nil {
		t.Fatal("the Makefile names no version of gotestsum")
	}
	bin := t.TempDir()
	install := exec.Command("go", "install", "gotest.tools/gotestsum@"+string(version[1]))
	install.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("build gotestsum: %v\n%s", err, out)
	}
	return filepath.Join(bin, "gotestsum")
}

// scratch is a module of its own with the script, and with an engine that is locked up or not.
func scratch(t *testing.T, packages map[string]string, locked bool) string {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("run")
	if err != nil {
		t.Fatal(err)
	}
	lockedUp := "#!/bin/sh\nexit 1\n"
	if locked {
		lockedUp = "#!/bin/sh\nexit 0\n"
	}
	files := map[string]string{"go.mod": "module x\n\ngo 1.26\n", "contrib/tests/run": string(script), "contrib/docker/locked": lockedUp}
	for name, test := range packages {
		files[name+"/p_test.go"] = counts + test + "\n"
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A machine gets the minutes that it is given, and more where it is slow; how the command ends is
// how it ends.
func TestTheLimitIsOfAQuietMachine(t *testing.T) {
	for minutes, want := range map[string]string{"45": `tests: (4[5-9]|[5-7]\d|8[0-7]) minutes at most`, "87": `tests: 87 minutes at most`} {
		out, err := exec.Command("./within", minutes, "sh", "-c", "exit 3").CombinedOutput()
		if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 3 {
			t.Errorf("within %s ends with %v", minutes, err)
		}
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("within %s says %q, want %s", minutes, out, want)
		}
	}
}
