package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// withPrivate gives the task a private set: a file that its command compares with.
func (b *fixture) withPrivate(t *testing.T) func(*round.Session) {
	return func(s *round.Session) {
		s.Task.Private = &task.Private{
			Context: b.tree(t, judgetest.Folder("secret"), judgetest.File("secret/set", "b passed")), Timeout: 2 * time.Minute,
			Command: task.Command{Argv: []string{"/judge", "privately"}},
		}
		s.HiddenPaths = append(s.HiddenPaths, "secret/set")
		s.Task.Judge.Expect = []string{"a"}
	}
}

func TestThePrivateSetJudgesAnArchiveOnceMore(t *testing.T) {
	for _, isolation := range []string{"shared", "staged"} {
		t.Run(isolation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				private := func(c *containertest.FakeContainer, cmd container.Command) {
					want(t, c, "/work/secret/set", "b passed")
					want(t, c, "/work/expected", "")
					_, _ = io.WriteString(cmd.Stdout, "b failed\nc passed")
				}
				var st *stages
				if isolation == "staged" {
					st = b.staged(t, "t", b.withPrivate(t))
					grade := st.grade
					st.grade = func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
						if len(cmd.Argv) == 1 {
							want(t, c, "/work/secret/set", "")
							return grade(ctx, c, cmd)
						}
						want(t, c, "/work/out/answer", "a passed")
						want(t, c, "/work/src/answer", "")
						private(c, cmd)
						return 0
					}
				} else {
					b.open("t", b.withPrivate(t), func(s *round.Session) { s.Task.Submit.Paths = []string{"."} })
					b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
						want(t, c, "/work/src/answer", "a passed")
						if len(cmd.Argv) == 1 {
							want(t, c, "/work/secret/set", "")
							_, _ = io.WriteString(cmd.Stdout, "a passed")
							return 0
						}
						private(c, cmd)
						return 0
					})
				}
				got := b.judgeOne(t, "t", judgetest.File("src/answer", "a passed"), judgetest.File("secret/set", "evil"))
				if got.Report.PassRate != 1 || got.Dropped != 1 {
					t.Fatalf("%+v", got.Report)
				}
				b.Close("t")
				sub, err := b.Private(t.Context(), "t", got)
				if err != nil {
					t.Fatal(err)
				}
				again, err := b.Private(t.Context(), "t", got)
				if err != nil || again.ID != sub.ID || sub.Round != "private-1" {
					t.Errorf("asked twice: %s and %s of %s, %v", sub.ID, again.ID, sub.Round, err)
				}
				r := b.judged(t, sub.ID).Report
				// The manifest is of the open set, and so is its verdict on the same tree.
				if r.PassRate != .5 || r.TotalTests != 2 || r.Cached || r.Isolation != isolation {
					t.Errorf("%+v", r)
				}
				if best, _ := scoring.Best(task.Judge{}, b.ledger.Of("t")); best.ID != got.ID {
					t.Errorf("the best round is %s", best.Round)
				}
				for _, path := range []string{"/api/v1/history", "/api/v1/result/" + sub.ID} {
					w := httptest.NewRecorder()
					b.Handler("t").ServeHTTP(w, httptest.NewRequest("GET", path, nil))
					if strings.Contains(w.Body.String(), "private") || path != "/api/v1/history" && w.Code != 404 {
						t.Errorf("an agent reads %d %s", w.Code, w.Body)
					}
				}
			})
		})
	}
}

// TestAPrivateRoundSurvivesARestart as any other does.
func TestAPrivateRoundSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		var runs atomic.Int32
		b.open("t", b.withPrivate(t))
		b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			if len(cmd.Argv) == 2 {
				runs.Add(1)
			}
			_, _ = io.WriteString(cmd.Stdout, "a passed")
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "x"))
		b.stop()
		sub, err := b.Private(t.Context(), "t", got)
		if err != nil {
			t.Fatal(err)
		}
		next, err := New(b.opts)
		if err != nil {
			t.Fatal(err)
		}
		b.Judge = next
		b.open("t", b.withPrivate(t))
		if err := next.Resume(t.Context(), b.ledger.Of("t")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- next.Run(ctx) }()
		again, err := next.Private(t.Context(), "t", got)
		if err != nil || again.ID != sub.ID {
			t.Errorf("asked again: %+v, %v", again, err)
		}
		if r := b.judged(t, sub.ID).Report; r.PassRate != 1 || runs.Load() != 1 {
			t.Errorf("%+v after %d runs", r, runs.Load())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestATaskWithoutAPrivateSetHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		if _, err := b.Private(t.Context(), "t", b.judgeOne(t, "t", judgetest.File("src/answer", "a passed"))); err == nil {
			t.Error("there is nothing to judge by")
		}
	})
}

// TestAManifestComesFromTheTaskOrAReferenceRun in this order, and is not told of tests that
// nothing names.
func TestAManifestComesFromTheTaskOrAReferenceRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		reference := []string{"a", "b"}
		for name, tc := range map[string]struct {
			change func(*round.Session)
			source string
			rate   float64
		}{
			"none":            {func(s *round.Session) { s.Reference = nil }, scoring.NoManifest, 1},
			"a reference run": {func(*round.Session) {}, scoring.FromReference, .5},
			"declared":        {func(s *round.Session) { s.Task.Judge.Expect = []string{"a"} }, scoring.Declared, 1},
			"by lists":        {func(s *round.Session) { s.Task.FailToPass, s.Task.PassToPass = []string{"a"}, []string{"b", "c", "d"} }, scoring.Declared, .25},
		} {
			var terms round.Session
			b.open(name, func(s *round.Session) { s.Reference = reference; tc.change(s); terms = *s })
			if _, source := scoring.Manifest(terms.Task, terms.Reference); source != tc.source {
				t.Errorf("%s: from %s", name, source)
			}
			if r := b.judgeOne(t, name, judgetest.File("src/answer", "a passed\nx passed")).Report; r.PassRate != tc.rate {
				t.Errorf("%s: rate %v, want %v", name, r.PassRate, tc.rate)
			}
		}
		for _, p := range []string{"exit_code", "", "score_sum", "reward"} {
			if _, source := scoring.Manifest(task.Task{Judge: task.Judge{Parser: p}}, reference); source != scoring.NoManifest {
				t.Errorf("parser %q: from %s", p, source)
			}
		}
	})
}

// TestTheScoreOf100IsNotForAgents: existing clients never saw it.
func TestTheScoreOf100IsNotForAgents(t *testing.T) {
	for _, level := range []string{"none", "score", "names", "full"} {
		s := round.Submission{State: round.StateJudged, Report: &round.Report{Status: round.StatusOK, Valid: true, Score: new(7.), Score100: new(77.5)}}
		text, err := json.Marshal(scoring.ResultView(task.Task{Judge: task.Judge{Feedback: level}}, s))
		if err != nil || bytes.Contains(text, []byte("77.5")) || bytes.Contains(text, []byte("0_100")) {
			t.Errorf("%s: %s, %v", level, text, err)
		}
	}
}
