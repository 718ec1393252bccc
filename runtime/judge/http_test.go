package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// field is one part of an upload, in order.
type field struct{ name, value string }

// post sends a form to the agent's API of a trial, and get a request without a body.
func (b *fixture) post(t *testing.T, trial, key string, fields ...field) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range fields {
		w, err := form.CreateFormFile(f.name, "x")
		if f.name != "archive" {
			w, err = form.CreateFormField(f.name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/submit", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	b.Handler(trial).ServeHTTP(w, r)
	return w
}

func (b *fixture) get(t *testing.T, trial, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler(trial).ServeHTTP(w, r)
	return w
}

// fields decodes an answer.
func fields(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
	return v
}

func tarball(t *testing.T, answer string) field {
	return field{"archive", string(judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("src/answer", answer))))}
}

func TestAnAgentSubmitsWaitsAndLooksBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Max = 3 })
		b.judged(t, b.submit(t, "t", round.KindAuto, "secret passed").ID)

		w := b.post(t, "t", "", field{"token", "token-t"}, field{"kind", "agent"}, field{"admin_secret", ""}, tarball(t, "a passed\nb failed"))
		sent := fields(t, w)
		id, _ := sent["submission_id"].(string)
		want := map[string]any{"submission_id": id, "round_id": "agent-1", "status": "queued", "remaining_submissions": 2.}
		if w.Code != 200 || len(id) != 16 || fmt.Sprint(sent) != fmt.Sprint(want) {
			t.Fatalf("submitted: %d %v", w.Code, sent)
		}

		got := fields(t, b.get(t, "t", "/api/v1/result/"+id+"?wait=30s", "Authorization", "Bearer token-t"))
		report, _ := got["report"].(map[string]any)
		if got["status"] != "completed" || got["error"] != nil || report["pass_rate"] != .5 || report["task_id"] != "sums" {
			t.Errorf("result %v", got)
		}
		if d := fmt.Sprint(report["details"]); d != "[map[name:b status:FAILED]]" {
			t.Errorf("details %s", d)
		}

		history := fields(t, b.get(t, "t", "/api/v1/history?token=token-t"))
		entries, _ := history["entries"].([]any)
		if len(entries) != 1 || history["best_round"] != "agent-1" || history["auto_submissions"] != 0. || history["agent_submissions"] != 1. || history["run_id"] != "t" {
			t.Errorf("history %v", history)
		}
		if strings.Contains(fmt.Sprint(history), "auto-1") {
			t.Error("the agent learns of automatic rounds")
		}
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.MaxQueue = 2; o.Capacity = judgetest.NewPlaces(0) }) // nothing is ever judged
		b.open("t")
		b.open("other")
		b.open("closed")
		b.Close("closed")
		auto := b.submit(t, "other", round.KindFinal, "x")
		foreign := auto.ID
		synctest.Wait()
		ok := tarball(t, "a passed")
		big := field{"archive", string(judgetest.Pack(t, judgetest.File("src/big", strings.Repeat("x", 1<<20+1))))}
		tests := map[string]struct {
			answer *httptest.ResponseRecorder
			code   int
			says   string
		}{
			"wrong token":              {b.post(t, "t", "", field{"token", "token-other"}, ok), 401, "token"},
			"wrong token, at the end":  {b.post(t, "t", "", ok, field{"token", "token-other"}), 401, "token"},
			"kind auto":                {b.post(t, "t", "", field{"kind", "auto"}, ok), 403, "auto"},
			"kind auto, at the end":    {b.post(t, "t", "", ok, field{"kind", "auto"}), 403, "auto"},
			"unknown kind":             {b.post(t, "t", "", field{"kind", "final"}, ok), 400, "final"},
			"no archive":               {b.post(t, "t", "", field{"kind", "agent"}), 400, "no archive"},
			"two archives":             {b.post(t, "t", "", ok, ok), 400, "two archives"},
			"a bad archive":            {b.post(t, "t", "", field{"archive", "junk"}), 400, "cannot be read"},
			"an evil archive":          {b.post(t, "t", "", field{"archive", string(judgetest.Pack(t, judgetest.File("a/../tests/x", "")))}), 400, "a/../tests/x"},
			"too large":                {b.post(t, "t", "", big), 413, "1048576"},
			"much too large":           {b.post(t, "t", "", field{"archive", strings.Repeat("\x00", 5<<20)}), 413, "larger"},
			"no form":                  {b.get(t, "t", "/api/v1/submit"), 404, "GET"},
			"closed":                   {b.post(t, "closed", "", ok), 403, "closed"},
			"not opened":               {b.post(t, "unknown", "", ok), 503, "does not know"},
			"a bearer of another":      {b.get(t, "t", "/api/v1/history", "Authorization", "Bearer token-other"), 401, "token"},
			"a query of another":       {b.get(t, "t", "/api/v1/history?token=x"), 401, "token"},
			"no bearer":                {b.get(t, "t", "/api/v1/history", "Authorization", "Basic eA=="), 401, "bearer"},
			"another trial's result":   {b.get(t, "t", "/api/v1/result/"+foreign), 404, foreign},
			"a snapshot's result":      {b.get(t, "other", "/api/v1/result/"+foreign), 404, foreign},
			"a strange wait":           {b.get(t, "t", "/api/v1/result/x?wait=soon"), 400, "soon"},
			"a game where there is no": {b.get(t, "t", "/api/v1/game/x"), 404, "game"},
		}
		for name, tc := range tests {
			detail, _ := fields(t, tc.answer)["detail"].(string)
			if tc.answer.Code != tc.code || !strings.Contains(detail, tc.says) {
				t.Errorf("%s: %d %q, want %d and %q", name, tc.answer.Code, detail, tc.code, tc.says)
			}
		}
		if n := len(b.ledger.Of("t")); n != 0 {
			t.Errorf("%d refused submissions spent a round", n)
		}
		if w := b.post(t, "t", "", ok); w.Code != 200 {
			t.Errorf("the only place: %d %s", w.Code, w.Body)
		}
		w := b.post(t, "other", "", ok)
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" {
			t.Errorf("a full queue: %d %v", w.Code, w.Header())
		}
	})
}

func TestBudgetAndCooldownAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Max, s.Cooldown = 2, time.Minute })
		b.post(t, "t", "", tarball(t, "a passed"))
		time.Sleep(10 * time.Second)
		w := b.post(t, "t", "", tarball(t, "b passed"))
		if w.Code != 429 || w.Header().Get("Retry-After") != "50" || !strings.Contains(w.Body.String(), "wait 50 seconds") {
			t.Errorf("cooldown: %d %v %s", w.Code, w.Header(), w.Body)
		}
		time.Sleep(50 * time.Second)
		if w := b.post(t, "t", "", tarball(t, "b passed")); w.Code != 200 || fields(t, w)["remaining_submissions"] != 0. {
			t.Errorf("the last one: %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Hour / 2)
		w = b.post(t, "t", "", tarball(t, "c passed"))
		if w.Code != 429 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "budget is exhausted") {
			t.Errorf("budget: %d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}

func TestARepeatedKeyGetsTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Max = 5 })
		answers := make(chan string, 3)
		for range 3 { // also while the first is under way
			go func() { answers <- b.post(t, "t", "key", tarball(t, "a passed")).Body.String() }()
		}
		first := <-answers
		b.post(t, "t", "another", tarball(t, "b passed"))
		if second, third := <-answers, <-answers; second != first || third != first {
			t.Errorf("%s, %s and %s", first, second, third)
		}
		if again := b.post(t, "t", "key", tarball(t, "a passed")).Body.String(); again != first {
			t.Errorf("much later %s, first %s", again, first)
		}
		if n := len(b.ledger.Of("t")); n != 2 {
			t.Errorf("%d rounds", n)
		}
	})
}

func TestALongPollEndsWithTheVerdictOrItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		go2 := make(chan struct{})
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			<-go2
			return 0
		})
		sub := b.submit(t, "t", round.KindAgent, "x")
		began := time.Now()
		if got := fields(t, b.get(t, "t", "/api/v1/result/"+sub.ID)); got["status"] == "completed" || time.Since(began) > 0 {
			t.Errorf("without waiting: %v after %s", got, time.Since(began))
		}
		if got := fields(t, b.get(t, "t", "/api/v1/result/"+sub.ID+"?wait=10s")); got["status"] != "running" || time.Since(began) != 10*time.Second {
			t.Errorf("after a wait of ten seconds: %v after %s", got["status"], time.Since(began))
		}
		go func() { time.Sleep(time.Second); close(go2) }()
		if got := fields(t, b.get(t, "t", "/api/v1/result/"+sub.ID+"?wait=60")); got["status"] != "completed" || time.Since(began) != 11*time.Second {
			t.Errorf("at the verdict: %v after %s", got["status"], time.Since(began))
		}
	})
}

func FuzzSubmit(f *testing.F) {
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\ntoken-t\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"archive\"; filename=\"a\"\r\n\r\n" + string(judgetest.Pack(f, judgetest.File("src/a", "1"))) + "\r\n--x--\r\n"))
	f.Add([]byte("--x--"))
	fake, ledger := containertest.NewFake(), judgetest.NewLedger()
	f.Cleanup(func() { _ = fake.Close() })
	fake.Handle(func(ctx context.Context, _ *containertest.FakeContainer) int { <-ctx.Done(); return 137 })
	image := fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": "", "/work/tests/x": ""})
	j, err := New(Options{
		Engine: fake, Ledger: ledger, Blobs: judgetest.NewBlobs(), Capacity: judgetest.NewPlaces(1), Owner: "fuzz", PauseProcess: []string{"/hold"},
		Parsers: lineParser, Spool: f.TempDir(),
	})
	if err != nil {
		f.Fatal(err)
	}
	s := round.Session{Trial: "t", Token: "token-t", JudgeImage: image.ID, Max: 1}
	s.Task.Workdir, s.Task.Submit.Paths, s.Task.Judge.Parser = "/work", []string{"."}, "lines"
	f.Fuzz(func(t *testing.T, body []byte) {
		j.Open(s)
		defer j.Forget("t")
		defer func() { ledger.All = nil }()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/submit", bytes.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		w := httptest.NewRecorder()
		j.Handler("t").ServeHTTP(w, r)
		rounds, places := len(ledger.All), j.queue.taken
		switch {
		case w.Code == 200 && rounds == 1 && places == 1:
		case w.Code >= 400 && w.Code < 500 && rounds == 0 && places == 0:
		default:
			t.Fatalf("%d %s with %d rounds and %d places", w.Code, w.Body, rounds, places)
		}
	})
}

func TestFeedbackTellsNoMoreThanTheTaskAllows(t *testing.T) {
	answer := "known passed\nleak-of-hidden-data failed\nworse failed\n"
	tests := map[string]struct {
		level  string
		expect []string
		tells  []string
		keeps  []string
	}{
		"none":                  {"none", nil, []string{"tells nothing"}, []string{"pass_rate", `"passed"`, "leak", "0.3"}},
		"score":                 {"score", nil, []string{`"pass_rate":0.3333`, "1/3 tests passed"}, []string{"known", "leak", "because"}},
		"names":                 {"names", nil, []string{"leak-of-hidden-data", "FAILED"}, []string{"known", "because"}},
		"names of the manifest": {"names", []string{"known", "worse"}, []string{`"worse"`}, []string{"leak", "because", `"known"`}},
		"full":                  {"full", nil, []string{"known", "PASSED", "leak-of-hidden-data", "because"}, nil},
		"full, with a manifest": {"full", []string{"known", "worse"}, []string{"known", "worse", "because"}, []string{"leak"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Task.Judge.Feedback, s.Task.Judge.Expect = tc.level, tc.expect })
				sub := b.submit(t, "t", round.KindAgent, answer)
				b.judged(t, sub.ID)
				all := b.get(t, "t", "/api/v1/result/"+sub.ID).Body.String() + b.get(t, "t", "/api/v1/history").Body.String()
				for _, word := range tc.tells {
					if !strings.Contains(all, word) {
						t.Errorf("%q is not told: %s", word, all)
					}
				}
				for _, word := range tc.keeps {
					if strings.Contains(strings.ReplaceAll(all, `"best_pass_rate":0,`, ""), word) {
						t.Errorf("%q is told: %s", word, all)
					}
				}
			})
		})
	}
}
