package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unlucky is what each package below begins with: bad is true the first time that it is asked
// for a name.
const unlucky = `package p

import ("fmt"; "os"; "path/filepath"; "testing")

var _ = fmt.Sprint

func bad(name string) bool {
	name = filepath.Join(os.Getenv("UNLUCKY"), name)
	if _, err := os.Stat(name); err == nil {
		return false
	}
	return os.WriteFile(name, nil, 0o600) == nil
}

func TestGood(*testing.T) { ran = true }

var ran bool
`

const (
	flaky    = `func TestUnlucky(t *testing.T) { if bad("flaky") { t.Fatal("no luck") } }`
	below    = `func TestAbove(t *testing.T) { t.Run("one of (these)", func(t *testing.T) { if bad("below") { t.Fatal("no luck") } }) }`
	fails    = `func TestFails(t *testing.T) { t.Fatal("never") }`
	late     = `func TestLate(t *testing.T) { if bad("late 1") || bad("late 2") { t.Fatal("no luck") } }`
	leaks    = `func TestMain(m *testing.M) { m.Run(); if ran { fmt.Println("it leaks"); os.Exit(1) } }`
	leaksNow = `func TestMain(m *testing.M) { m.Run(); if ran && bad("leak") { fmt.Println("it leaks"); os.Exit(1) } }`
	panics   = `func TestPanics(t *testing.T) { if bad("panic") { panic("no luck") } }`
	hangs    = `func TestHangs(t *testing.T) { if bad("hang") { <-make(chan int) } }`
	broken   = `func TestBroken(t *testing.T) { undefined() }`
)

func TestWhatIsRunAgain(t *testing.T) {
	tool := gotestsum(t)
	for _, c := range []struct {
		name     string
		packages map[string]string // what each has beside a good test
		locked   bool              // the engine turns out to be, where something failed
		passes   bool
		says     []string // each a pattern
	}{
		{"nothing", map[string]string{"a": ""}, false, true, nil},
		{"a test that fails once", map[string]string{"a": flaky, "b": below}, false, true, []string{`(?m)^flaky: x/a\.TestUnlucky`, `(?m)^flaky: x/b\.TestAbove`}},
		{"a test that fails twice", map[string]string{"a": late}, false, true, []string{`(?m)^flaky: x/a\.TestLate: 3 runs, 2 failures`}},
		{"a test that always fails", map[string]string{"a": fails, "b": flaky}, false, false, []string{`FAIL: a TestFails`}},
		{"a package that fails once by itself", map[string]string{"a": leaksNow, "b": flaky}, false, true, []string{`it leaks`, `(?m)^flaky: x/a \(was`, `(?m)^flaky: x/b\.`}},
		{"a package that always does", map[string]string{"a": leaks, "b": ""}, false, false, []string{`x/a failed by itself`, `it leaks`}},
		{"a process that dies", map[string]string{"a": panics}, false, false, []string{`no luck`}},
		{"a process that dies while another test is unlucky", map[string]string{"a": panics, "b": flaky}, false, false, []string{`no luck`}},
		{"a process that takes too long", map[string]string{"a": hangs}, false, false, []string{`TestHangs`}},
		{"what does not compile", map[string]string{"a": broken, "b": ""}, false, false, []string{`undefined: undefined`}},
		{"an engine that was locked up", map[string]string{"a": hangs, "b": panics, "c": ""}, true, true, []string{`again: --again`, `(?m)^flaky: x/a`, `(?m)^flaky: x/b`}},
		{"a failure that had another reason", map[string]string{"a": fails}, true, false, []string{`again: --again`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := scratch(t, c.packages, c.locked)
			cmd := exec.Command(filepath.Join(dir, "contrib/tests/run"), tool, "-timeout", "10s")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "UNLUCKY="+t.TempDir(), "PACKAGES=./...", "GOFLAGS=-buildvcs=false", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if passes := err == nil; passes != c.passes {
				t.Errorf("it passes: %t, want %t (%v)", passes, c.passes, err)
			}
			if strings.Contains(string(out), "flaky:") && !c.passes {
				t.Error("it calls something flaky although it fails")
			}
			for _, pattern := range c.says {
				if !regexp.MustCompile(pattern).Match(out) {
					t.Errorf("it does not say %s", pattern)
				}
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
	files := map[string]string{
		"go.mod": "module x\n\ngo 1.26\n", "contrib/tests/run": string(script),
		"contrib/docker/locked": lockedUp, "contrib/docker/up": "#!/bin/sh\necho again: \"$@\"\n",
	}
	for name, test := range packages {
		files[name+"/p_test.go"] = unlucky + test + "\n"
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
