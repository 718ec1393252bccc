package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

func TestOnlyATaskWithoutAnotherJudgeIsJudgedByCommands(t *testing.T) {
	lists := task.Task{FailToPass: []string{"true"}}
	with := func(change func(*task.Task)) task.Task { t := lists; change(&t); return t }
	for name, tt := range map[string]struct {
		task task.Task
		want bool
	}{
		"lists":         {lists, true},
		"of any kind":   {task.Task{PassToPass: []string{"true"}}, true},
		"its parser":    {with(func(t *task.Task) { t.Judge.Parser = "exit_code" }), true},
		"names":         {with(func(t *task.Task) { t.Judge.Parser = "pytest" }), false},
		"a command":     {with(func(t *task.Task) { t.Judge.Command.Shell = "x" }), false},
		"stages":        {with(func(t *task.Task) { t.Judge.Run = &task.Stage{} }), false},
		"a game":        {with(func(t *task.Task) { t.Judge.Game = "x" }), false},
		"nothing":       {task.Task{}, false},
		"a private set": {withoutManifest(with(func(t *task.Task) { t.Judge.Command.Shell = "x" })), false},
	} {
		if ByCommands(tt.task) != tt.want {
			t.Errorf("%s: %t", name, !tt.want)
		}
	}
}

func TestCommandsProtectWhatTheirRunnersProtect(t *testing.T) {
	p := commandsParser(task.Task{FailToPass: []string{"cd a && go test ./...", "make"}, PassToPass: []string{"pytest -q", "pytest b"}})
	for _, glob := range []string{"*_test.go", "conftest.py"} {
		if !strings.Contains(" "+strings.Join(p.Protect, " ")+" ", " "+glob+" ") {
			t.Errorf("%s is not protected: %q", glob, p.Protect)
		}
	}
}

// script is what a fake container does at a command, by its text.
type script map[string]func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int

func (s script) run(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
	do, ok := s[cmd.Argv[len(cmd.Argv)-1]]
	if !ok {
		_, _ = io.WriteString(cmd.Stdout, cmd.Argv[len(cmd.Argv)-1]+"\n")
		return 0
	}
	return do(ctx, c, cmd)
}

func printing(text string, code int) func(context.Context, *containertest.FakeContainer, container.Command) int {
	return func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
		_, _ = io.WriteString(cmd.Stdout, text)
		return code
	}
}

// openCommands opens a trial that is judged by commands.
func (b *bench) openCommands(trial string, failToPass, passToPass []string) {
	b.open(trial, func(s *Session) {
		s.JudgeImage = b.guestImage()
		s.Task.Judge = task.Judge{Timeout: time.Minute}
		s.Task.FailToPass, s.Task.PassToPass = failToPass, passToPass
	})
}

func TestCommandsAreRunByTheShellThatTheyWereMadeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
		var ran [][]string
		b.withGuest(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			ran = append(ran, cmd.Argv)
			return 0
		})
		b.open("t", func(s *Session) {
			s.JudgeImage = b.guestImage()
			s.Task.Judge = task.Judge{Timeout: time.Minute, Command: task.Command{Bash: true}}
			s.Task.FailToPass = []string{"[[ -e x ]]"}
		})
		b.judgeOne(t, "t", file("src/x", ""))
		if diff := cmp.Diff([][]string{task.Command{Shell: "[[ -e x ]]", Bash: true}.Args()}, ran); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCommandsAreRunInOrderOnceEachInOneContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
		var order, in []string
		calls := b.withGuest(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			order, in = append(order, strings.Join(cmd.Argv, " ")), append(in, c.ID())
			if cmd.User != "agent" || cmd.Workdir != "/work" {
				t.Errorf("as %q in %q", cmd.User, cmd.Workdir)
			}
			return len(order) - 1
		})
		b.openCommands("t", []string{"one", "two"}, []string{"three", "one"})
		r := b.judgeOne(t, "t", file("src/x", "")).Report
		if diff := cmp.Diff([]string{"/bin/sh -c one", "/bin/sh -c two", "/bin/sh -c three"}, order); diff != "" {
			t.Error(diff)
		}
		if len(in) != 3 || in[0] != in[1] || in[1] != in[2] {
			t.Error("in several containers")
		}
		if diff := cmp.Diff([]string{"sweep 0:0 / ", "sweep 0:0 / "}, calls()); diff != "" {
			t.Error(diff)
		}
		if got := outcomesOf(r.Tests); got != "passed 0, failed 1, failed 2" || r.Status != StatusOK || !r.Valid || r.TotalTests != 3 || r.Passed != 1 || r.Failed != 2 || r.ExitCode != 1 {
			t.Errorf("%s: %+v", got, r)
		}
		for _, test := range r.Tests {
			if test.DurationMS == nil {
				t.Errorf("%s took no time", test.Name)
			}
		}
	})
}

func TestAContainerInWhichNothingCanBeSweptIsStartedAgain(t *testing.T) {
	for name, guest := range map[string]string{"without a guest": "", "with a guest that fails": "/guest"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(o *Options) { o.Guest, o.Warm = guest, 1 })
				var runs []int
				b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					if cmd.Argv[0] == "/guest" {
						return 1
					}
					if _, ok := c.ReadFile("/work/left"); ok != (len(runs) > 0) {
						t.Error("the files of the first command are not there for the next")
					}
					c.WriteFile("/work/left", nil)
					runs = append(runs, c.Run())
					return 0
				})
				b.openCommands("t", []string{"one", "two"}, nil)
				synctest.Wait()
				r := b.judgeOne(t, "t", file("src/x", "")).Report
				if r.PassRate != 1 || len(runs) != 2 || runs[1] != runs[0]+1 {
					t.Errorf("%s (%s), starts %v", r.Status, r.Problem, runs)
				}
			})
		})
	}
}

// TestAContainerThatDoesNotComeBackIsTheSubmissionsDoing where nothing else can be found at
// fault: code can keep the guest from working, and its container from starting again.
func TestAContainerThatDoesNotComeBackIsTheSubmissionsDoing(t *testing.T) {
	for _, tt := range []struct {
		name, call string
		err        error
		times      int // below 0 = always
		want       Status
	}{
		{"that does not start again", "Start", errors.New("no more processes"), -1, StatusInvalid},
		{"that does not stop", "Stop", errors.New("no exit event"), -1, StatusInvalid},
		{"but once", "Start", errors.New("no more processes"), 1, StatusOK},
		{"while the engine is away", "Start", container.ErrUnavailable, 20, StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
				b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
					if cmd.Argv[0] == "/guest" {
						return 1
					}
					return 0
				})
				b.openCommands("t", []string{"one", "two"}, nil)
				synctest.Wait()
				n := tt.times
				b.fake.Intercept(func(call, target string) error {
					if call != tt.call || b.fake.Container(target) == nil && call == "Start" || n == 0 {
						return nil
					}
					n--
					return tt.err
				})
				if r := b.judgeOne(t, "t", file("src/x", "")).Report; r.Status != tt.want {
					t.Errorf("%s (%s)", r.Status, r.Problem)
				}
			})
		})
	}
}

func TestACommandOutOfTimeEndsAloneAndTheNextIsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Guest = "/guest" })
		b.withGuest(script{"slow": func(ctx context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			_, _ = io.WriteString(cmd.Stdout, "at it\n")
			<-ctx.Done()
			return 0
		}}.run)
		b.openCommands("t", []string{"slow"}, []string{"quick"})
		r := b.judgeOne(t, "t", file("src/x", "")).Report
		if got := outcomesOf(r.Tests); got != "failed -, passed 0" || r.Status != StatusTimeout || !r.Valid || r.PassRate != .5 {
			t.Errorf("%s: %+v", got, r)
		}
		if slow, quick := r.Tests[0], r.Tests[1]; !slow.TimedOut || slow.Output != "at it\n" || quick.TimedOut || quick.Output != "quick\n" {
			t.Errorf("%+v", r.Tests)
		}
		if out := b.output(t, r.Output); !strings.Contains(out, "[assayd: command 2: quick]\nquick\n") || !strings.Contains(out, "out of time after 60000 ms") {
			t.Errorf("output\n%s", out)
		}
	})
}

func TestCommandsThatCannotBeRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		f2p, p2p []string
		notRun   bool
		want     string
	}{
		{"one of fail_to_pass", []string{"true", "gone"}, []string{"fine"}, true, "passed 0, error 127, passed 0"},
		{"one of pass_to_pass", []string{"true"}, []string{"gone"}, false, "passed 0, error 127"},
		{"all of pass_to_pass", nil, []string{"gone", "forbidden"}, true, "error 127, error 126"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(o *Options) { o.Guest = "/guest" })
				b.withGuest(script{"gone": printing("sh: 1: gone: not found\n", 127), "forbidden": printing("", 126)}.run)
				b.openCommands("t", tt.f2p, tt.p2p)
				r := b.judgeOne(t, "t", file("src/x", "")).Report
				if got := outcomesOf(r.Tests); got != tt.want || r.NotRun != tt.notRun || r.NotRun && (r.Valid || !strings.Contains(r.Problem, `"gone" could not be run: exit code 127: sh: 1: gone: not found`)) {
					t.Errorf("%s: %+v", got, r)
				}
			})
		})
	}
}

// TestRunnersWordsAgainstTheirExitCode holds outputs as runners print them.
func TestRunnersWordsAgainstTheirExitCode(t *testing.T) {
	const (
		goPassed = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tx\t0.01s\n"
		goIdle   = "testing: warning: no tests to run\nPASS\nok  \ty\t0.01s [no tests to run]\n"
		unit     = "----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nOK\n"
	)
	for _, tt := range []struct {
		command, output string
		exit            int
		status          parser.Status
		message         string
	}{
		{"make test", "anything", 0, parser.Passed, ""},
		{"make test", "2 failed", 2, parser.Failed, "exit code 2: 2 failed"},
		{"pytest -q a", ".  [100%]\n=== short test summary info ===\nPASSED a.py::test_a\n1 passed in 0.01s\n", 0, parser.Passed, ""},
		{"pytest -q a", "F  [100%]\n=== short test summary info ===\nFAILED a.py::test_a\n1 failed in 0.01s\n", 0, parser.Failed, "a test that failed: a.py::test_a"},
		{"pytest -q a", "", 0, parser.Failed, "nothing of pytest"},
		{"pytest a", "=== test session starts ===\ncollected 1 item\n", 0, parser.Failed, "no good end"},
		{"pytest -q a", "no tests ran in 0.01s\n", 0, parser.Failed, "ran no test"},
		{"pytest a; pytest -q b", "=== test session starts ===\na.py .  [100%]\n=== 1 passed in 0.01s ===\n", 0, parser.Failed, "no good end"},
		{"pytest -q a | tail -1", "3 passed in 0.01s\n", 0, parser.Passed, ""},
		{"pytest -q a | tail -1", "1 failed, 2 passed in 0.01s\n", 0, parser.Failed, "tells of a test that failed"},
		{"pytest -q a | grep -c passed", "1\n", 0, parser.Passed, "exit code alone"},
		{"pytest -q a | grep passed", "1 failed, 2 passed in 0.01s\n", 0, parser.Failed, "failed"},
		{"tox -e py", "", 0, parser.Passed, ""},
		{"python -m unittest x", ".\n" + unit, 0, parser.Passed, ""},
		{"python -m unittest x", "", 0, parser.Failed, "nothing of unittest"},
		{"go test ./...", goPassed, 0, parser.Passed, ""},
		{"go test -run TestA ./...", goPassed + goIdle + "?   \tz\t[no test files]\n", 0, parser.Passed, ""},
		{"go test ./...", goPassed + "ok  \ty\t0.01s\n", 0, parser.Failed, "no good end"}, // y ended the process
		{"go test ./...", "ok  \ty\t0.01s\n", 0, parser.Failed, "no good end"},
		{"go test -json ./...", `{"Action":"run","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"output","Package":"x","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}` + "\n" +
			`{"Action":"pass","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"output","Package":"x","Output":"PASS\n"}` + "\n" + `{"Action":"pass","Package":"x"}` + "\n", 0, parser.Passed, ""},
		{"cargo test -q", "running 1 test\n.\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", 0, parser.Passed, ""},
		{"npx jest", "PASS ./a.test.js\nPASS ./b.test.js\n\nTest Suites: 2 passed, 2 total\nTests:       4 passed, 4 total\n", 0, parser.Passed, ""},
		{"npx jest", "", 0, parser.Failed, "nothing of jest"},
		{"npx mocha", "  sum\n    ✔ adds\n\n\n  1 passing (3ms)\n\n", 0, parser.Passed, ""},
		{"npx mocha", "  ․․․\n\n  3 passing (3ms)\n", 0, parser.Passed, ""},
		{"npx mocha", "", 0, parser.Failed, "nothing of mocha"},
	} {
		test, tampered := commandRun{text: tt.command, runners: parser.Runners(tt.command), exit: tt.exit, output: []byte(tt.output)}.verdict()
		if test.Status != tt.status || !strings.Contains(test.Message, tt.message) || tampered != "" || tt.message == "" && test.Message != "" {
			t.Errorf("%s, exit %d, %q: %s (%s), want %s (%s)", tt.command, tt.exit, tt.output, test.Status, test.Message, tt.status, tt.message)
		}
	}
}

func TestACommandWithATripwire(t *testing.T) {
	is := func(name string) func(string) bool { return func(s string) bool { return strings.HasSuffix(s, name) } }
	wire := parser.Tripwire{MustPass: is("TestZgood"), MustFail: is("TestZbad"), ExitCode: 1}
	const good, bad = "--- PASS: TestZgood (0.00s)\n", "--- FAIL: TestZbad (0.00s)\n"
	output := func(lines ...string) string { return strings.Join(lines, "") + "FAIL\nFAIL\tx\t0.01s\nFAIL\n" }
	for _, tt := range []struct {
		name, output string
		exit         int
		status       parser.Status
		code         int
		tampered     bool
	}{
		{"as it should be", output("--- PASS: TestA (0.00s)\n", good, bad), 1, parser.Passed, 0, false},
		{"another test fails", output("--- FAIL: TestA (0.00s)\n", good, bad), 1, parser.Failed, 1, false},
		{"no other test", output(good, bad), 1, parser.Failed, 1, false},
		{"what must fail passes", output("--- PASS: TestA (0.00s)\n", good, "--- PASS: TestZbad (0.00s)\n"), 1, parser.Failed, 1, true},
		{"neither is there", "--- PASS: TestA (0.00s)\nPASS\nok  \tx\t0.01s\n", 0, parser.Failed, 0, true},
		{"a failing test, and then success", output("--- PASS: TestA (0.00s)\n", good, bad), 0, parser.Failed, 0, true},
		{"it does not build", "FAIL\tx [build failed]\nFAIL\n", 1, parser.Failed, 1, false},
		{"another exit code", output("--- PASS: TestA (0.00s)\n", good, bad), 2, parser.Failed, 2, false},
	} {
		run := commandRun{text: "go test .", runners: parser.Runners("go test ."), wires: []parser.Tripwire{wire}, exit: tt.exit, output: []byte(tt.output)}
		test, tampered := run.verdict()
		if test.Status != tt.status || *test.ExitCode != tt.code || (tampered != "") != tt.tampered {
			t.Errorf("%s: %s (%s), exit code %d, tampered %q", tt.name, test.Status, test.Message, *test.ExitCode, tampered)
		}
		r := commandsVerdict(task.Task{FailToPass: []string{"go test ."}}, []commandRun{run}, "")
		if r.Tampered != tt.tampered || tt.tampered && (r.Valid || r.PassRate != 0) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func TestNamesOfCommandsAreWholeHoweverLong(t *testing.T) {
	long := "true # " + strings.Repeat("x", 2*maxTestName)
	r := commandsVerdict(task.Task{FailToPass: []string{long}}, []commandRun{{text: long, output: []byte(fmt.Sprint(long))}}, "")
	if r.Tests[0].Name != long {
		t.Errorf("%d bytes of %d", len(r.Tests[0].Name), len(long))
	}
	if got := len(bounded([]parser.Test{{Output: strings.Repeat("x", 2*maxTestOutput)}})[0].Output); got != maxTestOutput {
		t.Errorf("%d bytes of its output are kept", got)
	}
}
