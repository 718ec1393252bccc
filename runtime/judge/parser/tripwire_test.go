package parser

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestArming: for which commands the two tests can be added.
func TestArming(t *testing.T) {
	hidden := map[string]string{
		"a_test.go": "// Package a.\npackage a_test\n", "sub/b_test.go": "package sub\n",
		"sub/c_linux_test.go": "package sub\n", "testdata/d_test.go": "package d\n", "data.txt": "",
	}
	for _, c := range []struct {
		parser, command string
		armed           bool
	}{
		{"pytest", "python3 -m pytest -q -p no:cacheprovider -o addopts= a.py::b --deselect a.py::c", true},
		{"pytest", "cd x && PYTHONPATH=src py.test; echo $?", true},
		{"pytest", "pytest", true},
		{"pytest", "pytest --noconftest", false},
		{"pytest", "pytest --confcutdir=.", false},
		{"pytest", "PYTEST_ADDOPTS=-x pytest", false},
		{"pytest", "tox -e py -- pytest", false},
		{"pytest", "env -i pytest", false},
		{"pytest", "sh run-tests.sh", false},
		{"gotest", "go test -v ./...", true},
		{"gotest", "cd sub && go test -json -count=1 . 2>&1", true},
		{"gotest", "go test -json -skip '^(TestA)$' .", true},
		{"gotest", "go test -v -run Test ./sub", true},
		{"gotest", "timeout 60 go test -v -timeout 50s ./...", true},
		{"gotest", "GOFLAGS=-mod=mod go test -v", true},
		{"gotest", "GOFLAGS=-run=TestA go test -v", false},
		{"gotest", "go test -v -run '^(TestA)$' .", false},
		{"gotest", "go test -v -skip Test .", false},
		{"gotest", "go test -v -list .", false},
		{"gotest", "go test -v -failfast .", false},
		{"gotest", "go test -v ./... | tee log", false},
		{"gotest", "go test -v ./... > log", false},
		{"gotest", "go test -v ./... || true", false},
		{"gotest", "go test -v $FLAGS ./...", false},
		{"gotest", "go test -v ./...; echo done", false},
		{"gotest", "go test -v ./other", false},
		{"gotest", "go test -v ./testdata/...", true},
		{"gotest", "go test -v example.org/a", false},
		{"gotest", "go vet ./...", false},
		{"node", "node --test", true},
		{"node", "cd x; FOO=1 node --test --test-reporter=tap test/*.js", true},
		{"node", "NODE_OPTIONS=--no-warnings node --test", false},
		{"node", "node --test --test-name-pattern=a", false},
		{"node", "node a.test.js", false},
		{"node", "npm test", false},
		{"node", "node --test && echo done", false},
	} {
		t.Run(c.command, func(t *testing.T) {
			p, _ := Lookup(c.parser)
			wire, ok := p.Tripwire(Site{
				Command: c.command, Workdir: "/w", Hidden: slices.Collect(maps.Keys(hidden)), Nonce: "5eed",
				Read: func(name string) []byte { return []byte(hidden[name]) },
			})
			if ok != c.armed {
				t.Fatalf("armed %v, want %v", ok, c.armed)
			}
			if ok && (len(wire.Files) != 1 || wire.MustPass("x") || wire.MustFail("x")) {
				t.Errorf("unfit tripwire %+v", wire)
			}
		})
	}
}

func TestArmingKeepsTheEnvironment(t *testing.T) {
	wire, ok := pytestTripwire(Site{Command: "pytest", Workdir: "/w", Env: map[string]string{"PYTEST_ADDOPTS": "-x"}, Nonce: "a"})
	if !ok || !strings.HasPrefix(wire.Env["PYTEST_ADDOPTS"], "-x ") {
		t.Errorf("armed %v with %v", ok, wire.Env)
	}
	if _, ok := nodeTripwire(Site{Command: "node --test", Workdir: "/w", Env: map[string]string{"NODE_OPTIONS": "-x"}}); ok {
		t.Error("armed although NODE_OPTIONS is taken")
	}
	if _, ok := gotestTripwire(Site{Command: "go test", Workdir: "/w", Hidden: []string{"a_test.go"}, Nonce: "a"}); ok {
		t.Error("armed without the hidden files")
	}
}

func TestTripwireTakesThePackageOfItsNeighbour(t *testing.T) {
	wire, ok := gotestTripwire(Site{
		Command: "go test -v ./sub", Workdir: "/w", Hidden: []string{"sub/c_linux_test.go", "sub/b_test.go"}, Nonce: "a",
		Read: func(string) []byte { return []byte("// Package x.\npackage sub_test\n") },
	})
	if !ok {
		t.Fatal("not armed")
	}
	for name, content := range wire.Files {
		if !strings.HasPrefix(name, "/w/sub/zzz_") || !strings.HasPrefix(content, "package sub_test\n") {
			t.Errorf("%s: %s", name, content)
		}
	}
}

func TestCheck(t *testing.T) {
	wire := Tripwire{MustPass: containing("good"), MustFail: containing("bad")}
	for _, c := range []struct {
		name     string
		tests    []Test
		complete bool
		tampered bool
	}{
		{"as it should be", []Test{{Name: "good", Status: Passed}, {Name: "bad", Status: Failed}}, true, false},
		{"the bad one passed", []Test{{Name: "good", Status: Passed}, {Name: "bad", Status: Passed}}, false, true},
		{"the bad one was skipped", []Test{{Name: "good", Status: Passed}, {Name: "bad", Status: Skipped}}, true, true},
		{"in one process of two", []Test{{Name: "good", Status: Passed}, {Name: "bad 1", Status: Failed}, {Name: "bad 2", Status: Passed}}, true, true},
		{"the good one failed", []Test{{Name: "good", Status: Failed}, {Name: "bad", Status: Failed}}, true, true},
		{"missing", nil, true, true},
		{"one missing", []Test{{Name: "bad", Status: Failed}}, true, true},
		{"the run was cut", []Test{{Name: "good", Status: Errored}}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest, reason := wire.Check(Result{Tests: append(c.tests, Test{Name: "own"}), Complete: c.complete})
			if len(rest) != 1 || rest[0].Name != "own" {
				t.Errorf("rest %v", rest)
			}
			if (reason != "") != c.tampered {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

// Each package of which tests are known to run has the two added tests, so that none can be
// hidden while another prints its passes.
func TestNoPackageOfGoTestPassesForAnother(t *testing.T) {
	requireTool(t, "go")
	const forged = "=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \texample.org/m/b\t0.01s\n"
	hidden := map[string]string{
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Fatal(B()) }\n",
	}
	honest := map[string]string{"go.mod": "module example.org/m\n\ngo 1.21\n", "a/a.go": "package a\n", "b/b.go": "package b\n\nfunc B() int { return 1 }\n"}
	for name, c := range map[string]struct {
		more     map[string]string
		expect   []string
		tampered bool
		passed   string
	}{
		"honest": {nil, []string{"example.org/m/a::TestA", "example.org/m/b::TestB"}, false, "example.org/m/a::TestA"},
		"a package that is hidden": {map[string]string{
			"b/go.mod": "module b\n", "a/a.go": "package a\n\nimport \"os\"\n\nfunc init() { _, _ = os.Stdout.WriteString(" + strconv.Quote(forged) + ") }\n",
		}, []string{"example.org/m/a::TestA", "example.org/m/b::TestB"}, true, "example.org/m/a::TestA example.org/m/b::TestB"},
		"nobody knows what runs": {map[string]string{"b/go.mod": "module b\n"}, nil, false, "example.org/m/a::TestA"},
	} {
		t.Run(name, func(t *testing.T) {
			work := filepath.Join(t.TempDir(), "work")
			for _, files := range []map[string]string{honest, hidden, c.more} {
				for name, content := range files {
					write(t, filepath.Join(work, name), content)
				}
			}
			const command = "go test -vet=off -v ./..."
			wire, ok := gotestTripwire(Site{
				Command: command, Workdir: work, Hidden: slices.Sorted(maps.Keys(hidden)), Expect: c.expect, Nonce: "5eed",
				Read: func(name string) []byte { return []byte(hidden[name]) },
			})
			if !ok {
				t.Fatal("the tripwire is not armed")
			}
			for name, content := range wire.Files {
				write(t, name, content)
			}
			r := parseGoTest(run(t, work, command, []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local"}))
			rest, reason := wire.Check(r)
			if got := strings.Join(slices.Sorted(slices.Values(named(Result{Tests: rest}, Passed))), " "); got != c.passed || (reason != "") != c.tampered || !r.Complete {
				t.Errorf("passed %q, complete %t, tripwire %q", got, r.Complete, reason)
			}
		})
	}
}
