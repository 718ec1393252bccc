package parser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestLookup(t *testing.T) {
	want := []string{
		"cargo", "ctrf", "django", "exit_code", "gotest", "jest", "junit", "mocha", "node", "pytest", "pytest_v",
		"reward", "score_sum", "structured_json", "tap", "unittest",
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	for _, name := range want {
		p, ok := Lookup(name)
		if !ok || p.Parse == nil || p.Name != strings.TrimSuffix(name, "_v") {
			t.Errorf("Lookup(%q) = %q, %v", name, p.Name, ok)
		}
	}
	if _, ok := Lookup("nose"); ok {
		t.Error("found a parser that is not there")
	}
}

// reading is one output and what is to be read from it, as "status name" in order.
type reading struct {
	name     string
	in       Input
	tests    []string
	complete bool
	problem  string // part of it; "" = none
}

func checkReadings(t *testing.T, parser string, readings []reading) {
	t.Helper()
	p, _ := Lookup(parser)
	for _, c := range readings {
		t.Run(c.name, func(t *testing.T) {
			r := p.Parse(c.in)
			var got []string
			for _, test := range r.Tests {
				got = append(got, string(test.Status)+" "+test.Name)
			}
			if !slices.Equal(got, c.tests) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.tests, "\n  "))
			}
			if r.Complete != c.complete {
				t.Errorf("complete %v, want %v", r.Complete, c.complete)
			}
			if (c.problem == "") != (r.Problem == "") || !strings.Contains(r.Problem, c.problem) {
				t.Errorf("problem %q, want %q", r.Problem, c.problem)
			}
		})
	}
}

func output(s string) Input { return Input{Output: []byte(s)} }

func TestExitCode(t *testing.T) {
	checkReadings(t, "exit_code", []reading{
		{"zero", Input{}, []string{"passed exit_code"}, true, ""},
		{"not zero", Input{ExitCode: 3}, []string{"failed exit_code"}, true, ""},
		{"out of time", Input{TimedOut: true}, []string{"failed exit_code"}, false, "out of time"},
	})
}

// TestBounds: names, messages and the number of tests are bounded and printable.
func TestBounds(t *testing.T) {
	var tests tally
	long := strings.Repeat("é", 400)
	tests.add(long+"a", Passed, strings.Repeat("é", 5000))
	tests.add(long+"b", Passed, "")
	tests.add("bell\a \xff", Failed, "a\x00b\n\tc")
	for i := range maxTests + 5 {
		tests.add(fmt.Sprint(i), Passed, "")
	}
	r := tests.result(Input{}, true, nil)
	checkBounds(t, r)
	if len(r.Tests) != maxTests || r.Complete || r.Tests[0].Name == r.Tests[1].Name {
		t.Errorf("%d tests, complete %v, names %q and %q", len(r.Tests), r.Complete, r.Tests[0].Name, r.Tests[1].Name)
	}
	if got := r.Tests[2]; got.Name != "bell? ?" || got.Message != "a?b\n\tc" {
		t.Errorf("unprintable: %q, %q", got.Name, got.Message)
	}
}

func TestWorstStatusWins(t *testing.T) {
	for _, order := range [][]Status{{Passed, Failed, Skipped}, {Failed, Passed}, {Skipped, Failed, Passed}} {
		var tests tally
		for _, s := range order {
			tests.add("a", s, string(s))
		}
		if got := tests.tests[0]; len(tests.tests) != 1 || got.Status != Failed || got.Message != "failed" {
			t.Errorf("%v gave %+v", order, got)
		}
	}
}

// TestLinear: output made to be slow to read is read in time.
func TestLinear(t *testing.T) {
	const size = 1 << 16
	hostile := []string{
		" - ", "[", "# ", "=", "a::b ", "=== ", "<?xml ><testsuites><![CDATA[\n", "<testsuite>", "{", "{\"a\":\n",
		"PASS a.js\n  ✓ a\n", "FAIL a\n  ● Test suite failed to run\n", "  ● a\n", "  a\n    b\n      c\n", "  1) a\n", "  1 passing\n", "    - a\n",
		"{\"results\":{\"tests\":[\n", "{\n{}\n", "1..1\n", "{}", "[[", "{\"a\":[\n", "Tests: 1 passed, 1 total\n", " ", "✓ ",
		"\x1b[", "\x1b]", "    # Subtest: a\n", "  ---\n", "PASSED x::y - \n", "--- PASS: ", "ok 1 - # SKI", "\xff", "&a;", "(", ".F",
		"=== short test summary info ===\n", ">>>>> Start Structured Result\n", "=== test session starts ===\n", "\n", "ok 1 #\n",
	}
	for _, name := range Names() {
		p, _ := Lookup(name)
		for _, piece := range hostile {
			took := spent(t, func() {
				for _, prefix := range []string{"", "=== short test summary info ===\nFAILED a::", "ok 1 - "} {
					checkBounds(t, p.Parse(output(prefix+strings.Repeat(piece, size/len(piece)))))
				}
			})
			if took > 3*time.Second {
				t.Errorf("%s took %v for %q", name, took, piece)
			}
		}
	}
}

func checkBounds(t *testing.T, r Result) {
	t.Helper()
	if len(r.Tests) > maxTests || len(r.Summary) > maxSummary || len(r.Problem) > maxMessage {
		t.Fatalf("%d tests, summary of %d, problem of %d bytes", len(r.Tests), len(r.Summary), len(r.Problem))
	}
	if r.Complete && r.Problem != "" {
		t.Fatalf("complete in spite of %q", r.Problem)
	}
	seen := map[string]bool{}
	for _, test := range r.Tests {
		if test.Name == "" || len(test.Name) > maxName || len(test.Message) > maxMessage || seen[test.Name] {
			t.Fatalf("unfit test %+v", test)
		}
		if !utf8.ValidString(test.Name+test.Message) || strings.ContainsFunc(test.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("unprintable test %+v", test)
		}
		seen[test.Name] = true
	}
	for name, value := range r.Metrics {
		if value-value != 0 {
			t.Fatalf("metric %s is %v", name, value)
		}
	}
	for _, n := range []*float64{r.Score, r.PassRate} {
		if n != nil && *n-*n != 0 {
			t.Fatalf("number is %v", *n)
		}
	}
}

// fuzz runs one parser over output, and over it as a file. FuzzEveryParser does so with all:
// a target of its own is for formats whose samples the fuzzer has to know well.
func fuzz(f *testing.F, parser string, seeds ...string) {
	p, _ := Lookup(parser)
	for _, seed := range seeds {
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, file bool) {
		in := Input{Output: data}
		if file {
			in.Files = map[string][]byte{"junit.xml": data}
		}
		checkResult(t, p, in)
	})
}

func FuzzParsePytest(f *testing.F) { fuzz(f, "pytest", pytestVerbose, pytestQuiet) }
func FuzzParseGoTest(f *testing.F) { fuzz(f, "gotest", goVerbose, goJSON) }
func FuzzParseNode(f *testing.F)   { fuzz(f, "node", nodeNested, tapeFlat) }
func FuzzParseJUnit(f *testing.F)  { fuzz(f, "junit", junitNested) }
func FuzzParseJest(f *testing.F)   { fuzz(f, "jest", jestTwoFiles, jestJSON) }
func FuzzParseMocha(f *testing.F)  { fuzz(f, "mocha", mochaSpec, mochaJSON) }
func FuzzParseStructured(f *testing.F) {
	fuzz(f, "structured_json", `{"score":1,"details":[{"name":"a","status":"PASSED"}],"metrics":{"m":1}}`)
}

// FuzzTripwire builds the tripwires of all parsers for one command, also as an npm script.
func FuzzTripwire(f *testing.F) {
	f.Add(`cd a && X="1 2" go test -run '^(A|B)$' ./... 2>&1`)
	for _, command := range []string{"npx jest --verbose", "npm test -- --json", "mocha --reporter spec", "pytest -q", "node --test", "cargo test"} {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		manifest, _ := json.Marshal(map[string]any{"scripts": map[string]string{"test": command}})
		for _, name := range Names() {
			p, _ := Lookup(name)
			if p.Tripwire == nil {
				continue
			}
			for _, c := range []string{command, "npm test"} {
				p.Tripwire(Site{
					Command: c, Workdir: "/w", Nonce: "a", Hidden: []string{"package.json", "a_test.go"},
					Read: func(name string) []byte { return manifest },
				})
			}
		}
	})
}
