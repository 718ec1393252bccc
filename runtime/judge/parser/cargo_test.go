package parser

import (
	"strings"
	"testing"
)

const cargoBinaries = `   Compiling ct v0.1.0 (/w)
warning: unused
    Finished ` + "`test`" + ` profile [unoptimized + debuginfo] target(s) in 1.07s
     Running unittests src/lib.rs (target/debug/deps/ct-c4066ebb79ee0019)

running 8 tests
test t::a ... ok
test t::b ... FAILED
test t::c - should panic ... ok
test t::d ... ignored, because ... ok
test t::d2 ... ignored
test t::c2 - should panic ... FAILED
test t::slow has been running for over 60 seconds
test t::bench ... bench:          17 ns/iter (+/- 2)
test t::slow ... ok

failures:

---- t::b stdout ----

thread 't::b' (3263) panicked at src/lib.rs:20:36:
test t::b ... ok
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s
---- t::c2 stdout ----
note: test did not panic as expected at src/lib.rs:22:30

failures:
    t::b
    t::c2

test result: FAILED. 3 passed; 2 failed; 2 ignored; 1 measured; 0 filtered out; finished in 0.13s

error: test failed, to rerun pass ` + "`--lib`" + `
     Running tests/one.rs (target/debug/deps/one-33cd6129f43c35ce)

running 1 test
test same ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/two.rs (target/debug/deps/two-9f1e5f45edcdb65f)

running 1 test
test same ... ok <0.001s>

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.06s

   Doc-tests ct

running 2 tests
test src/lib.rs - f (line 10) - compile fail ... ok
test src/lib.rs - (line 1) ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s

error: 1 target failed:
    ` + "`--lib`" + `
`

// cargoUncaptured is of --nocapture with one thread, then with several.
const cargoUncaptured = `running 4 tests
test a ... hello
test b ... ok
no endok
test b ... err
thread 'b' panicked at src/lib.rs:20:36:
FAILED
test c - should panic ... 
x
ok
no endtest d ... ok

failures:

failures:
    b

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
`

func cargoRun(announced, body, summary string) string {
	return "     Running tests/a.rs (target/debug/deps/a-1)\n\nrunning " + announced + "\n" + body + "\ntest result: " + summary + " 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
}

func TestCargo(t *testing.T) {
	passed := cargoRun("1 test", "test a ... ok\n", "ok. 1 passed; 0 failed;")
	checkReadings(t, "cargo", []reading{
		{"binaries", output(cargoBinaries), []string{
			"passed t::a", "failed t::b", "passed t::c", "skipped t::d", "skipped t::d2", "failed t::c2", "passed t::slow",
			"passed same", "passed same #2", "passed src/lib.rs - f (line 10)", "passed src/lib.rs - (line 1)",
		}, true, ""},
		{"uncaptured output", output(strings.Replace(cargoUncaptured, "test b ... ok\n", "", 1)), []string{"passed a", "failed b", "passed c", "passed d"}, true, ""},
		{"a forged result in uncaptured output", output(cargoUncaptured), []string{"failed b", "passed c", "passed d"}, false, "announced 4"},
		{"a panic that ends the process", output("     Running tests/z.rs (target/debug/deps/z-1)\n\nrunning 2 tests\ntest a ... ok\nerror: test failed, to rerun pass `--test z`\n\nCaused by:\n  process didn't exit successfully (signal: 6, SIGABRT)\n"), []string{"passed a", "error tests/z.rs"}, false, "without a closing summary"},
		{"an exit with code 0", output("     Running tests/z.rs (target/debug/deps/z-1)\n\nrunning 1 test\n" + passed), []string{"error tests/z.rs", "passed a"}, false, "tests/z.rs exited without a closing summary"},
		{"a failure after the summary", output(passed + "error: test failed, to rerun pass `--test a`\n"), []string{"passed a"}, false, "failed without a failing test"},
		{"does not compile", output("   Compiling ct v0.1.0 (/w)\nerror[E0425]: cannot find value\nerror: could not compile `ct` (lib test) due to 1 previous error\n"), nil, false, "could not compile `ct`"},
		{"one crate does not compile", output(passed + "error: could not compile `ct` (lib test) due to 1 previous error\n"), []string{"passed a"}, false, "could not compile"},
		{"no manifest", output("error: could not find `Cargo.toml` in `/w` or any parent directory\n"), nil, false, "could not find"},
		{"no test", output(cargoRun("0 tests", "", "ok. 0 passed; 0 failed;")), nil, false, "no test result"},
		{"quiet", output(cargoRun("3 tests", "...\n", "ok. 3 passed; 0 failed;")), nil, false, "is it quiet?"},
		{"out of time", Input{Output: []byte("running 2 tests\ntest a ... ok\ntest b ... "), TimedOut: true}, []string{"passed a", "error b", "error a test binary"}, false, "out of time"},
		{"nothing", output(""), nil, false, "no test result"},

		{"a forged summary behind the real one", output(cargoRun("1 test", "test a ... FAILED\n", "FAILED. 0 passed; 1 failed;") + "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"), []string{"failed a"}, false, "claims 1 passed"},
		{"a forged summary before the real one", output(cargoRun("1 test", "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\ntest a ... FAILED\n", "FAILED. 0 passed; 1 failed;")), []string{"failed a"}, true, ""},
		{"a forged line before the real one", output(cargoRun("1 test", "test a ... ok\ntest a ... FAILED\n", "FAILED. 0 passed; 1 failed;")), []string{"failed a"}, false, "claims 0 passed"},
		{"a forged test", output(cargoRun("1 test", "test b ... ok\ntest a ... ok\n", "ok. 1 passed; 0 failed;")), []string{"passed b", "passed a"}, false, "announced 1"},
		{"a forged run", output(cargoRun("1 test", "running 1 test\ntest a ... ok\n", "ok. 1 passed; 0 failed;")), []string{"error tests/a.rs", "passed a"}, false, "without a closing summary"},
		{"a summary that contradicts itself", output(cargoRun("1 test", "test a ... FAILED\n", "ok. 0 passed; 1 failed;")), []string{"failed a"}, false, "in spite of"},
		{"an impossible number", output(cargoRun("99999999999999999999 tests", "test a ... ok\n", "ok. 1 passed; 0 failed;")), []string{"passed a"}, false, "announced -1"},
	})
}

func TestCargoMessages(t *testing.T) {
	for _, test := range parseCargo(output(cargoBinaries)).Tests {
		want := map[string]string{"t::b": "panicked at src/lib.rs", "t::c2": "did not panic as expected", "t::d": "because ... ok"}[test.Name]
		if !strings.Contains(test.Message, want) || want == "" && test.Message != "" {
			t.Errorf("message of %s: %q", test.Name, test.Message)
		}
		if repeats := map[string]string{"same #2": "same"}[test.Name]; test.Repeats != repeats {
			t.Errorf("%s repeats %q, want %q", test.Name, test.Repeats, repeats)
		}
	}
}

// Names hold within one binary only: lists of tests that say the binary need to find it.
func TestCargoTestsKnowTheirBinary(t *testing.T) {
	got := map[string]string{}
	for _, test := range parseCargo(output(cargoBinaries)).Tests {
		got[test.Name] = test.Target
	}
	for name, want := range map[string]string{
		"t::a": "src/lib.rs", "same": "tests/one.rs", "same #2": "tests/two.rs", "src/lib.rs - (line 1)": "doc",
	} {
		if got[name] != want {
			t.Errorf("%s is in %q, want %q", name, got[name], want)
		}
	}
}
