package judge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/judge/httpapi"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// served gives connections to a server of a trial's API, in memory: what is written has to
// be read.
func (b *fixture) served(t *testing.T, trial string) (dial func() net.Conn) {
	t.Helper()
	l := make(pipes)
	server := &http.Server{Handler: b.Handler(trial), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		close(l)
		<-served
		_ = server.Close()
	})
	return func() net.Conn {
		near, far := net.Pipe()
		l <- far
		t.Cleanup(func() { _ = near.Close() })
		return near
	}
}

// say sends the text in the background; a server that hears no more is no failure.
func say(c net.Conn, text string) {
	go func() { _, _ = io.WriteString(c, text) }()
}

const formHead = "Content-Type: multipart/form-data; boundary=x\r\n"

// TestNobodyKeepsARequestGoing: whatever is sent slowly, its connection is free again when
// the time is over, and that for what is still to come behind an answer.
func TestNobodyKeepsARequestGoing(t *testing.T) {
	for name, tt := range map[string]struct {
		says   string
		within time.Duration
	}{
		"a question with a body":                 {"GET /api/v1/history HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12", httpapi.RequestTime},
		"a body without an end":                  {"GET /api/v1/result/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", httpapi.RequestTime},
		"a body for nobody":                      {"PUT /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12", httpapi.RequestTime},
		"an upload":                              {"POST /api/v1/submit HTTP/1.1\r\nHost: x\r\n" + formHead + "Content-Length: 99\r\n\r\n--x\r\n", httpapi.UploadTime},
		"an upload that is refused":              {"POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\n" + formHead + "Content-Length: 99\r\n\r\n--x\r\n", httpapi.AnswerTime},
		"an upload that is no form":              {"POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n--x\r\n", httpapi.AnswerTime},
		"an upload with a token behind its time": {"POST /api/v1/submit?token=x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + formHead + "Content-Length: 99\r\n\r\n", httpapi.UploadTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t")
				c := b.served(t, "t")()
				began := time.Now()
				say(c, tt.says)
				_, _ = io.Copy(io.Discard, c) // to its end
				if took := time.Since(began); took > tt.within+httpapi.AnswerTime+time.Second {
					t.Errorf("the connection was held for %s", took)
				}
			})
		})
	}
}

// long fills a trial's history with rounds, so that an answer is longer than what a
// connection takes in passing.
func (b *fixture) long(trial string, rounds int) {
	b.ledger.Mu.Lock()
	defer b.ledger.Mu.Unlock()
	for n := range rounds {
		b.ledger.All = append(b.ledger.All, round.Submission{
			ID: fmt.Sprint(trial, n), Trial: trial, Try: 1, Round: fmt.Sprint("agent-", n+1), Number: n + 1, Kind: round.KindAgent, State: round.StateJudged,
			ReservedAt: time.Now(), AcceptedAt: time.Now(), Report: &round.Report{Status: round.StatusOK},
		})
	}
}

// TestAnAnswerThatIsNotTakenIsGivenUp, and until then it is the only one that is made for
// its trial, while others are answered.
func TestAnAnswerThatIsNotTakenIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		for _, trial := range []string{"t", "other"} {
			b.open(trial)
			b.long(trial, 100)
		}
		dial, other := b.served(t, "t"), b.served(t, "other")
		ask := func(c net.Conn, path string) {
			say(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		}
		ask(dial(), "/api/v1/history") // and never read
		synctest.Wait()
		for _, tt := range []struct {
			from  net.Conn
			path  string
			after time.Duration
		}{
			{other(), "/api/v1/history", 0},
			{dial(), "/api/v1/history", httpapi.AnswerTime},
			{dial(), "/api/v1/result/t5?wait=9s", httpapi.AnswerTime},
		} {
			began := time.Now()
			ask(tt.from, tt.path)
			if tt.after > 0 {
				synctest.Wait()
			}
			giveUp := time.AfterFunc(2*httpapi.AnswerTime, func() { _ = tt.from.Close() })
			answer, err := http.ReadResponse(bufio.NewReader(tt.from), nil)
			giveUp.Stop()
			if err != nil || answer.StatusCode != 200 || time.Since(began) > tt.after {
				t.Errorf("%s: %v after %s", tt.path, err, time.Since(began))
				continue
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Error(err)
			}
		}
	})
}

// readCounter counts what is read of a body.
type readCounter struct {
	r io.Reader
	n int64
}

func (c *readCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// endless repeats a text for ever.
type endless struct{ text, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestAFormIsBoundedWhereItIsNotItsArchive: the header of a part is read as a whole, on all
// connections at once.
func TestAFormIsBoundedWhereItIsNotItsArchive(t *testing.T) {
	archive := "--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a\"\r\n\r\n" + tarball(t, "a passed").value + "\r\n"
	for name, tt := range map[string]struct{ begins, goesOn string }{
		"a header without an end":          {"--x\r\n", "X-Padding: 0123456789\r\n"},
		"a header of one line":             {"--x\r\nContent-Disposition: form-data; name=\"", "aaaaaaaaaaaaaaaa"},
		"a field without an end":           {"--x\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\n", "agent agent agent "},
		"no beginning":                     {"", "nothing that begins a part\r\n"},
		"a header behind the archive":      {archive + "--x\r\n", "X-Padding: 0123456789\r\n"},
		"a field behind the archive":       {archive + "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n", "token-t"},
		"fields, one after the other":      {"", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("b", 2*httpapi.MaxField) + "\r\n"},
		"small fields, more than are read": {"", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Task.Submit.MaxBytes = 1 << 30 })
				body := &readCounter{r: io.MultiReader(strings.NewReader(tt.begins), &endless{text: tt.goesOn})}
				r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/submit", body)
				r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
				w := httptest.NewRecorder()
				b.Handler("t").ServeHTTP(w, r)
				if w.Code/100 != 4 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if limit := int64(len(tt.begins) + httpapi.MaxFields + 8<<10); body.n > limit {
					t.Errorf("%d bytes were read, %d at most are of use", body.n, limit)
				}
				if n := len(b.ledger.Of("t")); n != 0 {
					t.Errorf("%d rounds", n)
				}
			})
		})
	}
}

func TestAnIdempotencyKeyIsAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		for n, code := range map[int]int{httpapi.MaxKey: 200, httpapi.MaxKey + 1: 400} {
			if w := b.post(t, "t", strings.Repeat("k", n), tarball(t, "a passed")); w.Code != code {
				t.Errorf("a key of %d bytes: %d %s", n, w.Code, w.Body)
			}
		}
	})
}

// breaking is a body whose sender goes away.
type breaking struct{ text io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("connection reset by peer")
	}
	return n, err
}

// TestWhoeverGoesAwayIsNoTroubleOfTheJudge: how often that happens is the agent's to say, so
// it is not worth a line in the log.
func TestWhoeverGoesAwayIsNoTroubleOfTheJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newFixture(t, func(o *Options) {
			o.Log, o.Capacity = slog.New(slog.NewTextHandler(&log, nil)), judgetest.NewPlaces(0) // nothing is ever judged
		})
		b.open("t")
		whole := "--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a\"\r\n\r\n" + tarball(t, "a passed").value
		for _, at := range []int{0, 2, 40, 100, len(whole)} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/submit", breaking{strings.NewReader(whole[:at])})
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			w := httptest.NewRecorder()
			if b.Handler("t").ServeHTTP(w, r); w.Code != 400 {
				t.Errorf("an upload that breaks off after %d bytes: %d %s", at, w.Code, w.Body)
			}
		}
		sub := b.submit(t, "t", round.KindAgent, "b passed")
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		for _, path := range []string{"/api/v1/result/" + sub.ID + "?wait=60s", "/api/v1/history", "/api/v1/result/" + sub.ID} {
			b.Handler("t").ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", path, nil))
		}
		b.session("t").uploads.agent <- struct{}{} // another upload goes on
		r := httptest.NewRequestWithContext(gone, "POST", "/api/v1/submit", strings.NewReader(whole+"\r\n--x--\r\n"))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		b.Handler("t").ServeHTTP(httptest.NewRecorder(), r)
		if log.Len() > 0 {
			t.Errorf("the log has\n%s", &log)
		}
	})
}

// TestRoundsAreBounded, also where a run has no limit: all rounds of a trial are read for
// each new one.
func TestRoundsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		b.long("t", round.MaxRounds-1)
		if w := b.post(t, "t", "", tarball(t, "a passed")); w.Code != 200 {
			t.Errorf("the last round: %d %s", w.Code, w.Body)
		}
		w := b.post(t, "t", "", tarball(t, "b passed"))
		if w.Code != 429 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), fmt.Sprint(round.MaxRounds)) {
			t.Errorf("one more: %d %v %s", w.Code, w.Header(), w.Body)
		}
		if sub := b.submit(t, "t", round.KindFinal, "b passed"); sub.Round != "final-1" {
			t.Errorf("the last snapshot is %s", sub.Round)
		}
		b.open("t", func(s *round.Session) { s.Try = 2 })
		if w := b.post(t, "t", "", tarball(t, "a passed")); w.Code != 200 {
			t.Errorf("the next try: %d %s", w.Code, w.Body)
		}
	})
}
