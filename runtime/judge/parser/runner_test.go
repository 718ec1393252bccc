package parser

import (
	"fmt"
	"strings"
	"testing"
)

func TestRunnersOfShellCommands(t *testing.T) {
	for command, want := range map[string]string{
		"pytest -q tests":         "pytest*1 whole",
		"python -m pytest tests":  "pytest*1 whole",
		"python3.12 -m pytest -x": "pytest*1 whole",
		"cd pkg && /opt/venv/bin/python -B -m pytest 'tests/a b.py::test[x]'": "pytest*1 whole",
		"PYTHONPATH=. pytest a; pytest b":                                     "pytest*2 whole",
		"timeout -k 5 60 python -m pytest a":                                  "pytest*1 whole",
		"poetry run pytest a":                                                 "pytest*1 whole",
		"coverage run -m pytest a":                                            "pytest*1 whole",
		"python -m coverage run --branch -m pytest a":                         "pytest*1 whole",
		`bash -lc "cd x && pytest -q"`:                                        "pytest*1 whole",
		"pytest -v a 2>&1 | tail -20":                                         "pytest*1 seen",
		"pytest -v a | tee /tmp/log | cat":                                    "pytest*1 whole",
		"pytest -v a | grep -q passed":                                        "pytest*1",
		"pytest -v a > /dev/null":                                             "pytest*1",
		"pytest a || true":                                                    "pytest*1",
		"(cd x && python -m pytest a)":                                        "pytest*1",
		"python -m unittest discover -v":                                      "unittest*1 whole",
		"python manage.py test polls":                                         "django*1 whole",
		"./manage.py test":                                                    "django*1 whole",
		"cd pkg && go test -run 'TestA|TestB' ./...":                          "gotest*1 whole",
		"go build ./... && go test ./a && go test ./b":                        "gotest*2 whole",
		"go test ./... | tail -3":                                             "gotest*1",
		"go vet ./... && pytest":                                              "pytest*1 whole",
		"cargo test --no-fail-fast":                                           "cargo*1 whole",
		"cargo +nightly test":                                                 "cargo*1 whole",
		"npx jest src":                                                        "jest*1 whole",
		"CI=1 npx --no-install jest":                                          "jest*1 whole",
		"yarn jest src":                                                       "jest*1 whole",
		"node_modules/.bin/mocha test":                                        "mocha*1 whole",
		"npx mocha":                                                           "mocha*1 whole",
		"node --test test/":                                                   "node*1 whole",
		"node --import tsx --test a.js":                                       "node*1 whole",
		"pytest a && go test ./...":                                           "pytest*1 whole gotest*1 whole",
		"pip install pytest && python -c 'import pytest'":                     "",
		"grep -q pytest requirements.txt":                                     "",
		"which pytest":                                                        "",
		"pytest --collect-only -q | grep test_x":                              "",
		"pytest --co":                                                         "",
		"go test -run=^$ ./...":                                               "",
		"go test -run '^$' ./...":                                             "",
		"go test -c ./x":                                                      "",
		"cargo test --no-run":                                                 "",
		"npx jest --passWithNoTests":                                          "",
		"npx mocha --reporter dot":                                            "",
		"npm test":                                                            "",
		"make test":                                                           "",
		"./run_tests.sh":                                                      "",
		"python tests/test_a.py":                                              "",
		"node test.js":                                                        "",
		"mvn -q test":                                                         "",
		"":                                                                    "",
		"'":                                                                   "",
		"sh -c":                                                               "",
	} {
		var got []string
		for _, r := range Runners(command) {
			text := fmt.Sprintf("%s*%d", r.Name, r.Times)
			switch {
			case r.Whole:
				text += " whole"
			case r.Seen:
				text += " seen"
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestClosingSummariesOfRunners(t *testing.T) {
	for _, tt := range []struct {
		runner, output string
		want           Claim
	}{
		{"pytest", "..                 [100%]\n2 passed in 0.01s\n", Claim{Ends: 1, Passed: 2, Marks: true}},
		{"pytest", "==== 1 failed, 2 passed, 1 xfailed, 3 errors in 0.01s ====\n", Claim{Ends: 1, Passed: 3, Failed: 4, Marks: true}},
		{"pytest", "no tests ran in 0.00s\n", Claim{Ends: 1, Marks: true}},
		{"pytest", "=== test session starts ===\n", Claim{Marks: true}},
		{"pytest", "hello, 3 passed by\n", Claim{}},
		{"pytest", "", Claim{}},
		{"unittest", "..\n" + thinRule + "\nRan 2 tests in 0.000s\n\nOK\n", Claim{Ends: 1, Passed: 2, Marks: true}},
		{"unittest", "Ran 2 tests in 0.000s\n\nFAILED (failures=1)\n", Claim{Ends: 1, Passed: 2, Failed: 1, Marks: true}},
		{"gotest", "ok  \tx/y\t0.01s\n", Claim{Ends: 1, Marks: true}},
		{"gotest", "--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nPASS\nok  \tx/y\t0.01s\n", Claim{Ends: 1, Passed: 2, Marks: true}},
		{"gotest", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/y\t0.01s\n", Claim{Ends: 1, Failed: 2, Marks: true}},
		{"cargo", "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", Claim{Ends: 1, Passed: 2, Marks: true}},
		{"jest", "PASS src/a.test.js\nTests:       1 skipped, 3 passed, 4 total\n", Claim{Ends: 1, Passed: 3, Marks: true}},
		{"mocha", "  3 passing (5ms)\n  1 failing\n", Claim{Ends: 1, Passed: 3, Failed: 1, Marks: true}},
		{"node", "TAP version 13\n# tests 2\n# pass 2\n# fail 0\n", Claim{Ends: 1, Passed: 2, Marks: true}},
		{"node", "ℹ tests 2\nℹ pass 1\nℹ fail 1\n", Claim{Ends: 1, Passed: 1, Failed: 1, Marks: true}},
		{"exit_code", "2 passed in 0.01s\n", Claim{}},
	} {
		p, ok := Lookup(tt.runner)
		if !ok {
			t.Fatal(tt.runner)
		}
		if got := (Runner{Parser: p}).Claim([]byte(tt.output)); got != tt.want {
			t.Errorf("%s %q: %+v, want %+v", tt.runner, tt.output, got, tt.want)
		}
	}
}

func TestTheEnvironmentAsksForNamesWhereTheCommandLeavesIt(t *testing.T) {
	for command, want := range map[string]string{
		"pytest a":                    "-x -rap",
		"pytest -q a":                 "-x -rap",
		"pytest -qq a":                "-x -rap -v",
		"pytest -q -q a":              "-x -rap -v",
		"PYTEST_ADDOPTS=-q pytest a":  "-x",
		"tox -e py -- pytest":         "-x",
		"pytest a | grep passed":      "-x",
		"python -m unittest -v tests": "-x",
	} {
		env := map[string]string{"PYTEST_ADDOPTS": "-x"}
		for _, r := range Runners(command) {
			env = r.Environment(command, env)
		}
		if env["PYTEST_ADDOPTS"] != want {
			t.Errorf("%s: %q, want %q", command, env["PYTEST_ADDOPTS"], want)
		}
	}
	for command, want := range map[string]string{"go test ./...": "-v", "go build ./...": ""} {
		var env map[string]string
		for _, r := range Runners(command) {
			env = r.Environment(command, env)
		}
		if env["GOFLAGS"] != want {
			t.Errorf("%s: GOFLAGS %q, want %q", command, env["GOFLAGS"], want)
		}
	}
}

func FuzzRunners(f *testing.F) {
	for _, s := range []string{"cd x && pytest -q | tail -3", `sh -c "sh -c 'go test'"`, "a || (b; pytest)", "env -i x", "timeout"} {
		f.Add(s, "2 passed in 0.01s")
	}
	f.Fuzz(func(t *testing.T, command, output string) {
		for _, r := range Runners(command) {
			r.Environment(command, nil)
			if c := r.Claim([]byte(output)); c.Passed < 0 || c.Failed < 0 || r.Times < 1 {
				t.Errorf("%q: %+v of %+v", command, c, r)
			}
		}
	})
}
