package judge

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

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
func (b *fixture) openCommands(trial string, failToPass, passToPass []string) {
	b.open(trial, func(s *round.Session) {
		s.JudgeImage = b.guestImage()
		s.Task.Judge = task.Judge{Timeout: time.Minute}
		s.Task.FailToPass, s.Task.PassToPass = failToPass, passToPass
	})
}

func TestCommandsAreRunByTheShellThatTheyWereMadeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
		var ran [][]string
		b.withGuest(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			ran = append(ran, cmd.Argv)
			return 0
		})
		b.open("t", func(s *round.Session) {
			s.JudgeImage = b.guestImage()
			s.Task.Judge = task.Judge{Timeout: time.Minute, Command: task.Command{Bash: true}}
			s.Task.FailToPass = []string{"[[ -e x ]]"}
		})
		b.judgeOne(t, "t", judgetest.File("src/x", ""))
		if diff := cmp.Diff([][]string{task.Command{Shell: "[[ -e x ]]", Bash: true}.Args()}, ran); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCommandsAreRunInOrderOnceEachInOneContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
		var order, in []string
		calls := b.withGuest(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			order, in = append(order, strings.Join(cmd.Argv, " ")), append(in, c.ID())
			if cmd.User != "agent" || cmd.Workdir != "/work" {
				t.Errorf("as %q in %q", cmd.User, cmd.Workdir)
			}
			return len(order) - 1
		})
		b.openCommands("t", []string{"one", "two"}, []string{"three", "one"})
		r := b.judgeOne(t, "t", judgetest.File("src/x", "")).Report
		if diff := cmp.Diff([]string{"/bin/sh -c one", "/bin/sh -c two", "/bin/sh -c three"}, order); diff != "" {
			t.Error(diff)
		}
		if len(in) != 3 || in[0] != in[1] || in[1] != in[2] {
			t.Error("in several containers")
		}
		if diff := cmp.Diff([]string{"sweep 0:0 / ", "sweep 0:0 / "}, calls()); diff != "" {
			t.Error(diff)
		}
		if got := outcomesOf(r.Tests); got != "passed 0, failed 1, failed 2" || r.Status != round.StatusOK || !r.Valid || r.TotalTests != 3 || r.Passed != 1 || r.Failed != 2 || r.ExitCode != 1 {
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
				b := newFixture(t, func(o *Options) { o.Guest, o.Warm = guest, 1 })
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
				r := b.judgeOne(t, "t", judgetest.File("src/x", "")).Report
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
		want       round.Status
	}{
		{"that does not start again", "Start", errors.New("no more processes"), -1, round.StatusInvalid},
		{"that does not stop", "Stop", errors.New("no exit event"), -1, round.StatusInvalid},
		{"but once", "Start", errors.New("no more processes"), 1, round.StatusOK},
		{"while the engine is away", "Start", container.ErrUnavailable, 20, round.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, func(o *Options) { o.Guest, o.Warm = "/guest", -1 })
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
				if r := b.judgeOne(t, "t", judgetest.File("src/x", "")).Report; r.Status != tt.want {
					t.Errorf("%s (%s)", r.Status, r.Problem)
				}
			})
		})
	}
}

func TestACommandOutOfTimeEndsAloneAndTheNextIsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Guest = "/guest" })
		b.withGuest(script{"slow": func(ctx context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			_, _ = io.WriteString(cmd.Stdout, "at it\n")
			<-ctx.Done()
			return 0
		}}.run)
		b.openCommands("t", []string{"slow"}, []string{"quick"})
		r := b.judgeOne(t, "t", judgetest.File("src/x", "")).Report
		if got := outcomesOf(r.Tests); got != "failed -, passed 0" || r.Status != round.StatusTimeout || !r.Valid || r.PassRate != .5 {
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
				b := newFixture(t, func(o *Options) { o.Guest = "/guest" })
				b.withGuest(script{"gone": printing("sh: 1: gone: not found\n", 127), "forbidden": printing("", 126)}.run)
				b.openCommands("t", tt.f2p, tt.p2p)
				r := b.judgeOne(t, "t", judgetest.File("src/x", "")).Report
				if got := outcomesOf(r.Tests); got != tt.want || r.NotRun != tt.notRun || r.NotRun && (r.Valid || !strings.Contains(r.Problem, `"gone" could not be run: exit code 127: sh: 1: gone: not found`)) {
					t.Errorf("%s: %+v", got, r)
				}
			})
		})
	}
}
