package judge

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// withTests gives the session an image with two hidden tests in files of code.
func (b *fixture) withTests(s *round.Session) {
	s.JudgeImage = b.fake.AddImage("judge:code", container.ImageConfig{User: "agent"}, map[string]string{
		"/hold": "", "/judge": "", "/etc/passwd": "root:x:0:0::/:\nagent:x:1000:1001::/:\n",
		"/work/tests/test_a.py": "assert a == 1\n", "/work/tests/test_b.py": "assert b == 1\n", "/work/src/old": "old",
	}).ID
	s.Task.Judge.Expect = []string{"a", "b"}
}

// shows prints that a test passed if its file is as the image has it.
func shows(c *containertest.FakeContainer, out io.Writer) {
	for _, name := range []string{"a", "b"} {
		status := " passed\n"
		if text, _ := c.ReadFile("/work/tests/test_" + name + ".py"); string(text) != "assert "+name+" == 1\n" {
			status = " failed\n"
		}
		_, _ = io.WriteString(out, name+status)
	}
}

func TestAMixedRunHasOtherHiddenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", b.withTests)
		var runs atomic.Int32
		var argv atomic.Value
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if cmd.Argv[0] != "/judge" {
				return 1 // there is no guest: files are compared one by one
			}
			runs.Add(1)
			argv.Store(strings.Join(cmd.Argv, " "))
			want(t, c, "/work/src/answer", "x")
			shows(c, cmd.Stdout)
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "x"))
		if got.Report.PassRate != 1 {
			t.Fatalf("%+v", got.Report)
		}
		code, err := b.HiddenCode(t.Context(), "t")
		if err != nil || len(code) != 2 || string(code["tests/test_a.py"]) != "assert a == 1\n" {
			t.Fatalf("the hidden code is %q, %v", code, err)
		}
		b.Close("t")
		mix := map[string][]byte{"tests/test_a.py": []byte("assert a == 2\n")}
		sub, err := b.Mixed(t.Context(), "t", got, MixedKey(got.Round, 1), mix)
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.Mixed(t.Context(), "t", got, MixedKey(got.Round, 1), mix)
		if err != nil || again.ID != sub.ID || sub.Round != "mixed-1" {
			t.Errorf("asked twice: %s and %s of %s, %v", sub.ID, again.ID, sub.Round, err)
		}
		r := b.judged(t, sub.ID).Report
		if r.Status != round.StatusOK || r.Tampered || r.Cached || r.PassRate != .5 || r.Tests[0].Status != "failed" || r.Tests[1].Status != "passed" {
			t.Errorf("%+v", r)
		}
		if got := argv.Load(); got != "/judge" {
			t.Errorf("it was judged by %q", got)
		}
		// The same mix once more is another run.
		other, err := b.Mixed(t.Context(), "t", got, MixedKey(got.Round, 2), mix)
		if err != nil || other.ID == sub.ID {
			t.Fatalf("%s, %v", other.ID, err)
		}
		if r := b.judged(t, other.ID).Report; r.Cached || runs.Load() != 3 {
			t.Errorf("after %d runs %+v", runs.Load(), r)
		}
		if best, _ := scoring.Best(task.Judge{}, b.ledger.Of("t")); best.ID != got.ID {
			t.Errorf("the best round is %s", best.Round)
		}
		for _, path := range []string{"/api/v1/history", "/api/v1/result/" + sub.ID} {
			w := httptest.NewRecorder()
			b.Handler("t").ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if strings.Contains(w.Body.String(), "mixed") || path != "/api/v1/history" && w.Code != 404 {
				t.Errorf("an agent reads %d %s", w.Code, w.Body)
			}
		}
	})
}

// TestAMixedRunIsComparedWithWhatWasLaid: a submission that puts the real test back has altered it.
func TestAMixedRunIsComparedWithWhatWasLaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", b.withTests)
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if cmd.Argv[0] != "/judge" {
				return 1
			}
			c.WriteFile("/work/tests/test_a.py", []byte("assert a == 1\n"))
			shows(c, cmd.Stdout)
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "x"))
		if got.Report.PassRate != 1 || got.Report.Tampered {
			t.Fatalf("%+v", got.Report)
		}
		sub, err := b.Mixed(t.Context(), "t", got, "k", map[string][]byte{"tests/test_a.py": []byte("assert a == 2\n")})
		if err != nil {
			t.Fatal(err)
		}
		if r := b.judged(t, sub.ID).Report; !r.Tampered || !strings.Contains(r.Problem, "tests/test_a.py") {
			t.Errorf("%+v", r)
		}
	})
}

func TestAMixOfWhatIsNotHiddenIsNotLaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", b.withTests)
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			shows(c, cmd.Stdout)
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "x"))
		sub, err := b.Mixed(t.Context(), "t", got, "k", map[string][]byte{"src/old": []byte("new")})
		if err != nil {
			t.Fatal(err)
		}
		if r := b.judged(t, sub.ID).Report; r.Status != round.StatusError || !strings.Contains(r.Problem, "src/old is no hidden file") {
			t.Errorf("%+v", r)
		}
	})
}

func TestAMixedRunSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		var runs atomic.Int32
		b.open("t", b.withTests)
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if cmd.Argv[0] == "/judge" {
				runs.Add(1)
			}
			shows(c, cmd.Stdout)
			return 0
		})
		got := b.judgeOne(t, "t", judgetest.File("src/answer", "x"))
		b.stop()
		sub, err := b.Mixed(t.Context(), "t", got, "k", map[string][]byte{"tests/test_b.py": []byte("other")})
		if err != nil {
			t.Fatal(err)
		}
		next, err := New(b.opts)
		if err != nil {
			t.Fatal(err)
		}
		b.Judge = next
		b.open("t", b.withTests)
		if err := next.Resume(t.Context(), b.ledger.Of("t")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- next.Run(ctx) }()
		r := b.judged(t, sub.ID).Report
		if r.PassRate != .5 || runs.Load() != 2 {
			t.Errorf("after %d runs %+v", runs.Load(), r)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestMixedRunsTakeNoPlaceOfTheQueue: an agent's archive is not refused because of them.
func TestMixedRunsTakeNoPlaceOfTheQueue(t *testing.T) {
	q := newQueue(4)
	for n := range 10 {
		if !q.takeFor("a", round.KindMixed, false) {
			t.Fatalf("mixed run %d is refused", n+1)
		}
		q.enqueue("a", fmt.Sprint("m", n), round.KindMixed)
	}
	if !q.take("b", false) {
		t.Fatal("a round is refused because of mixed runs")
	}
	q.enqueue("b", "b1", round.KindAgent)
	var order []string
	q.offer(func(w *waiter, _ bool) served {
		order = append(order, w.id)
		return hasRoom
	})
	if len(order) != 11 || order[0] != "b1" || q.taken != 0 || len(q.byTrial) != 0 {
		t.Errorf("in the order %q, and then %d places are taken", order, q.taken)
	}
	q.enqueue("a", "m", round.KindMixed)
	q.forget("a")
	if q.taken != 0 {
		t.Errorf("%d places are taken", q.taken)
	}
}

func TestPatientRoundsComeBehindTheOthers(t *testing.T) {
	q := newQueue(16)
	for _, id := range []string{"a1", "b1", "a2", "c1", "d1"} {
		q.take(id[:1], true)
		kind := round.KindAgent
		if id[:1] == "a" || id[:1] == "c" {
			kind = round.KindMixed
		}
		q.enqueue(id[:1], id, kind)
	}
	var order []string
	q.offer(func(w *waiter, _ bool) served {
		order = append(order, w.id)
		return hasRoom
	})
	if got := strings.Join(order, " "); got != "b1 d1 a1 c1 a2" {
		t.Errorf("order %s", got)
	}
}
