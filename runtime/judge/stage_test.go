package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// tree stores a tree of a task.
func (b *fixture) tree(t *testing.T, entries ...judgetest.Entry) task.Tree {
	t.Helper()
	blob, err := b.blobs.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Write(judgetest.Pack(t, entries...)); err != nil {
		t.Fatal(err)
	}
	digest, _, err := blob.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return task.Tree{Digest: digest}
}

// inContainer is what a test has the command of a stage do.
type inContainer func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int

// stages are the two commands of a staged judge, and of its private set.
type stages struct {
	run, grade inContainer
	mu         sync.Mutex
	calls      []string // "run src", the first argument and what workdir holds at its top
}

// staged opens a trial whose judge has stages: "run" copies src/answer to out/answer, and
// "grade" prints that.
func (b *fixture) staged(t *testing.T, trial string, change ...func(*round.Session)) *stages {
	t.Helper()
	st := &stages{
		run: func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			answer, _ := c.ReadFile("/work/src/answer")
			c.WriteFile("/work/out/answer", answer)
			_, _ = io.WriteString(cmd.Stdout, "running\n")
			return 0
		},
		grade: func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			answer, _ := c.ReadFile("/work/out/answer")
			_, _ = cmd.Stdout.Write(answer)
			return 0
		},
	}
	b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		st.mu.Lock()
		st.calls = append(st.calls, cmd.Argv[0])
		st.mu.Unlock()
		if cmd.Argv[0] == "/run" {
			return st.run(ctx, c, cmd)
		}
		return st.grade(ctx, c, cmd)
	})
	files := map[string]string{"/hold": "", "/run": "", "/grade": "", "/judge": "", "/etc/passwd": "root:x:0:0::/:\nagent:x:1000:1001::/:\n", "/work/tests/hidden": "hidden"}
	runImage := b.fake.AddImage("run:1", container.ImageConfig{User: "agent"}, files)
	gradeImage := b.fake.AddImage("grade:1", container.ImageConfig{}, files)
	b.open(trial, append([]func(*round.Session){func(s *round.Session) {
		s.RunImage, s.GradeImage = runImage.ID, gradeImage.ID
		s.Task.Submit.Paths = []string{"."}
		s.Task.Judge.Command = task.Command{}
		s.Task.Judge.Run = &task.Stage{
			Context: b.tree(t, judgetest.File("harness", "run it")), Command: task.Command{Argv: []string{"/run"}}, Timeout: time.Minute, Outputs: []string{"out", "log.txt"},
		}
		s.Task.Judge.Grade = &task.Stage{
			Context: b.tree(t, judgetest.Folder("out"), judgetest.File("expected", "a passed"), judgetest.File("out/sealed", "sealed")), Command: task.Command{Argv: []string{"/grade"}}, Timeout: time.Minute,
		}
	}}, change...)...)
	return st
}

func (b *fixture) judgeOne(t *testing.T, trial string, entries ...judgetest.Entry) round.Submission {
	t.Helper()
	sub, err := b.Submit(t.Context(), trial, round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(judgetest.Pack(t, entries...))})
	if err != nil {
		t.Fatal(err)
	}
	return b.judged(t, sub.ID)
}

func (b *fixture) output(t *testing.T, digest string) string {
	t.Helper()
	f, err := b.blobs.Open(digest)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// want compares a file of a container; "" = it is not there.
func want(t *testing.T, c *containertest.FakeContainer, name, content string) {
	t.Helper()
	if got, _ := c.ReadFile(name); string(got) != content {
		t.Errorf("%s in image %.12s reads %q, want %q", name, c.Workload().Image, got, content)
	}
}

func TestStagesKeepCodeAndAnswersApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) {
			o.Parsers = func(name string) (parser.Parser, bool) {
				p, ok := lineParser(name)
				p.Tripwire = func(parser.Site) (parser.Tripwire, bool) {
					t.Error("a tripwire is armed where nothing shares a process")
					return parser.Tripwire{}, false
				}
				return p, ok
			}
		})
		st := b.staged(t, "t")
		run, grade := st.run, st.grade
		var first string
		st.run = func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			first = c.ID()
			want(t, c, "/work/expected", "")
			want(t, c, "/work/out/sealed", "")
			want(t, c, "/work/harness", "run it")
			want(t, c, "/work/src/answer", "a passed")
			if cmd.User != "agent" {
				t.Errorf("the run is %q's", cmd.User)
			}
			return run(ctx, c, cmd)
		}
		st.grade = func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if _, err := b.fake.Inspect(ctx, first); !errors.Is(err, container.ErrNotFound) {
				t.Errorf("the run's container is there while its outputs are graded: %v", err)
			}
			want(t, c, "/work/expected", "a passed")
			want(t, c, "/work/out/answer", "a passed")
			want(t, c, "/work/harness", "")
			want(t, c, "/work/src/answer", "")
			return grade(ctx, c, cmd)
		}
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "a passed"), judgetest.File("harness", "evil"))
		r := got.Report
		if r.Status != round.StatusOK || r.PassRate != 1 || r.Isolation != "staged" || got.Dropped != 1 || r.Outputs == "" {
			t.Errorf("%+v", r)
		}
		if text := b.output(t, r.Output); text != "running\n"+stageLine+"a passed" {
			t.Errorf("the output is %q", text)
		}
		b.stop()
		if left := containers(t, b); len(left) > 0 {
			t.Errorf("containers are left: %v", left)
		}
	})
}

// TestOutputsAreHostile: only regular files and folders below the declared paths get to
// the grader, within bounds, and none in place of what is hidden there.
func TestOutputsAreHostile(t *testing.T) {
	tests := map[string]struct {
		left    []judgetest.Entry // by the run, in workdir
		want    string            // what the grader was given
		problem string            // why it was not asked
	}{
		"files and folders":        {[]judgetest.Entry{judgetest.File("out/answer", "a passed"), judgetest.Folder("out/d"), judgetest.File("out/d/e", "x"), judgetest.File("log.txt", "l")}, "log.txt=l out/answer=a passed out/d/ out/d/e=x", ""},
		"what was not declared":    {[]judgetest.Entry{judgetest.File("out/a", "x"), judgetest.File("grade.py", "evil"), judgetest.File("src/b", "x")}, "out/a=x", ""},
		"a link to an answer":      {[]judgetest.Entry{judgetest.File("out/a", "x"), judgetest.Link("out/l", "../expected"), judgetest.Link("out/m", "/etc/passwd"), judgetest.Link("log.txt", "expected")}, "out/a=x", ""},
		"an output that is a link": {[]judgetest.Entry{judgetest.Link("out", "/etc")}, "", ""},
		"a hard link is a copy":    {[]judgetest.Entry{judgetest.File("out/a", "x"), judgetest.Hard("out/b", "out/a")}, "out/a=x out/b=x", ""},
		"devices and pipes":        {[]judgetest.Entry{judgetest.File("out/a", "x"), judgetest.Special(tar.TypeChar, "out/null"), judgetest.Special(tar.TypeFifo, "out/pipe")}, "out/a=x", ""},
		"what the context hides":   {[]judgetest.Entry{judgetest.File("out/sealed", "evil"), judgetest.File("out/a", "x")}, "out/a=x", ""},
		"what the judge protects":  {[]judgetest.Entry{judgetest.File("out/conftest.py", "evil"), judgetest.File("out/a", "x")}, "out/a=x", ""},
		"what is loaded unasked": {[]judgetest.Entry{
			judgetest.File("out/a", "x"), judgetest.File("out/sitecustomize.py", "evil"), judgetest.File("out/sitecustomize/__init__.py", "evil"), judgetest.File("out/x.pth", "evil"),
			judgetest.File("out/__pycache__/a.pyc", "evil"), judgetest.File("out/node_modules/a/index.js", "evil"), judgetest.File("out/d/conftest.py", "evil"),
		}, "out/a=x", ""},
		"nothing":                        {nil, "", ""},
		"a file over the bound":          {[]judgetest.Entry{judgetest.File("out/big", strings.Repeat("x", 2<<20))}, "", "more than"},
		"too many files":                 {many("out/f", 200), "", "more than 100 entries"},
		"a name with a control in it":    {[]judgetest.Entry{judgetest.File("out/a\x1b[2J", "x")}, "", "control character"},
		"a file where there is a folder": {[]judgetest.Entry{judgetest.File("out", "x")}, "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				st := b.staged(t, "t", func(s *round.Session) { s.Task.Judge.Protect = []string{"conftest.py"} })
				st.run = func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					if err := b.fake.CopyTo(ctx, c.ID(), "/work", bytes.NewReader(judgetest.Pack(t, tc.left...))); err != nil {
						t.Error(err)
					}
					return 0
				}
				var graded atomic.Bool
				st.grade = func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					graded.Store(true)
					want(t, c, "/work/out/sealed", "sealed")
					_, _ = io.WriteString(cmd.Stdout, "a passed")
					return 0
				}
				r := b.judgeOne(t, "t", judgetest.File("src/answer", "")).Report
				if tc.problem != "" {
					if graded.Load() || r.Status != round.StatusInvalid || r.Valid || !strings.Contains(r.Problem, tc.problem) {
						t.Errorf("graded: %t, %s (%s)", graded.Load(), r.Status, r.Problem)
					}
					return
				}
				if !graded.Load() || r.Status != round.StatusOK {
					t.Fatalf("graded: %t, %s (%s)", graded.Load(), r.Status, r.Problem)
				}
				if got := judgetest.Listing(t, []byte(b.output(t, r.Outputs))); got != tc.want {
					t.Errorf("the grader got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func many(name string, n int) (all []judgetest.Entry) {
	for i := range n {
		all = append(all, judgetest.File(name+strings.Repeat("x", i), ""))
	}
	return all
}

// TestARunThatDoesNotEndWell is graded by what it left, and never counts as a success.
func TestARunThatDoesNotEndWell(t *testing.T) {
	leave := func(c *containertest.FakeContainer) { c.WriteFile("/work/out/answer", []byte("a passed\nb passed")) }
	tests := map[string]struct {
		run     func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int
		status  round.Status
		valid   bool
		rate    float64
		exit    int
		problem string
		notRun  bool
	}{
		"out of time": {func(ctx context.Context, _ *fixture, c *containertest.FakeContainer) int {
			leave(c)
			<-ctx.Done()
			return 137
		}, round.StatusTimeout, true, 2. / 3, 137, "did not end within 1m", false},
		"out of time with nothing": {func(ctx context.Context, _ *fixture, c *containertest.FakeContainer) int {
			<-ctx.Done()
			return 137
		}, round.StatusInvalid, false, 0, 137, "did not end within 1m", false},
		"out of memory": {func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int {
			leave(c)
			b.fake.Kill(c.ID(), container.Exit{Code: 137, OOM: true})
			<-ctx.Done()
			return 137
		}, round.StatusInvalid, false, 1, 137, "out of memory", false},
		"exit code 3":              {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) int { leave(c); return 3 }, round.StatusInvalid, false, 1, 3, "exit code 3", false},
		"no program, by the shell": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) int { return 127 }, round.StatusInvalid, false, 0, 127, "exit code 127", true},
		"exit code 0, and nothing": {func(_ context.Context, _ *fixture, c *containertest.FakeContainer) int { return 0 }, round.StatusInvalid, false, 0, 0, "no result", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				st := b.staged(t, "t")
				st.run = func(ctx context.Context, c *containertest.FakeContainer, _ container.Command) int {
					return tc.run(ctx, b, c)
				}
				r := b.judgeOne(t, "t", judgetest.File("src/answer", "")).Report
				if r.Status != tc.status || r.Valid != tc.valid || r.PassRate != tc.rate || r.ExitCode != tc.exit || !strings.Contains(r.Problem, tc.problem) || r.NotRun != tc.notRun {
					t.Errorf("%s valid=%t rate %v exit %d not run %t (%s)", r.Status, r.Valid, r.PassRate, r.ExitCode, r.NotRun, r.Problem)
				}
				if len(st.calls) != 2 {
					t.Errorf("commands: %v; what is left is graded, be it nothing", st.calls)
				}
			})
		})
	}
}

func TestARunCommandThatIsNotThereIsNotGraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		st := b.staged(t, "t", func(s *round.Session) { s.Task.Judge.Run.Command = task.Command{Argv: []string{"/no/such"}} })
		r := b.judgeOne(t, "t", judgetest.File("src/answer", "")).Report
		if r.Status != round.StatusInvalid || !r.NotRun || r.Isolation != "staged" || !strings.Contains(r.Problem, `"/no/such" is not in the judge image`) || len(st.calls) != 0 {
			t.Errorf("%+v after %v", r, st.calls)
		}
	})
}

// TestAStageIsRepeatedAsAWhole: a failure of the machinery between the two is a refund.
func TestAStageIsRepeatedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.staged(t, "t")
		var failed atomic.Bool
		b.fake.Intercept(func(call, _ string) error {
			if call == "Stop" && failed.CompareAndSwap(false, true) {
				return errors.New("boom")
			}
			return nil
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "a passed"))
		if got.Report.Status != round.StatusOK || got.Refunds != 1 {
			t.Errorf("%s (%s) after %d refunds", got.Report.Status, got.Report.Problem, got.Refunds)
		}
	})
}

// A machine that fails each time says nothing of the submission, and no less how it would
// have been judged.
func TestAStageThatFailsForGoodIsStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.staged(t, "t")
		b.fake.Intercept(func(call, _ string) error {
			if call == "Stop" {
				return container.ErrNoSpace
			}
			return nil
		})
		if r := b.judgeOne(t, "t", judgetest.File("src/answer", "a passed")).Report; r.Status != round.StatusError || r.Isolation != "staged" {
			t.Errorf("%s, %s", r.Status, r.Isolation)
		}
	})
}

// TestResultFilesOutsideOfWorkdir: an absolute path is fetched from where it says, its
// folder is the judge user's, and it is no pattern for what may be submitted.
func TestResultFilesOutsideOfWorkdir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reward = "/logs/verifier/reward.txt"
		b := newFixture(t, func(o *Options) {
			o.Parsers = func(name string) (parser.Parser, bool) {
				return parser.Parser{Name: name, Files: []string{reward, "near.txt"}, Parse: func(in parser.Input) parser.Result {
					return parser.Result{Complete: true, Summary: string(in.Files[reward]) + "|" + string(in.Files["near.txt"]), PassRate: new(1.)}
				}}, true
			}
		})
		b.open("t", func(s *round.Session) { s.Task.Submit.Paths = []string{"."} })
		var folder *tar.Header
		b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, _ container.Command) int {
			stream, err := b.fake.CopyFrom(ctx, c.ID(), "/logs/verifier")
			if err != nil {
				t.Error(err)
				return 1
			}
			if folder, err = tar.NewReader(stream).Next(); err != nil {
				t.Error(err)
			}
			want(t, c, "/work/logs/verifier/reward.txt", "mine")
			c.WriteFile(reward, []byte("0.5"))
			c.WriteFile("/work/near.txt", []byte("near"))
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("logs/verifier/reward.txt", "mine"), judgetest.File("near.txt", "evil"))
		if got.Report.Summary != "0.5|near" || got.Dropped != 1 {
			t.Errorf("%+v, %d dropped", got.Report, got.Dropped)
		}
		if folder.Typeflag != tar.TypeDir || folder.Uid != 1000 || folder.Gid != 1001 {
			t.Errorf("the folder is %+v", folder)
		}
	})
}
