//go:build linux

package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// quietHost takes everything.
func quietHost() HostOptions {
	return HostOptions{
		Hello: func(context.Context, Hello) (Welcome, error) { return Welcome{LogNext: 5}, nil },
		Log: func(_ context.Context, offset int64, r io.Reader) (int64, error) {
			n, err := io.Copy(io.Discard, r)
			return offset + n, err
		},
		Event: func(context.Context, Event) error { return nil },
		Beat:  func(context.Context, Beat) (Order, error) { return Order{End: true}, nil },
	}
}

func TestHostAnswers(t *testing.T) {
	broken := HostOptions{
		Hello: func(context.Context, Hello) (Welcome, error) { return Welcome{}, errors.New("secret path") },
		Log:   func(context.Context, int64, io.Reader) (int64, error) { return 0, errors.New("secret path") },
		Event: func(context.Context, Event) error { return errors.New("secret path") },
		Beat:  func(context.Context, Beat) (Order, error) { return Order{}, errors.New("secret path") },
	}
	const internal = `{"error":"the daemon cannot do this now"}`
	for _, tt := range []struct {
		name, method, path, body string
		host                     HostOptions
		code                     int
		want                     string
	}{
		{"hello", "POST", "/v1/hello", `{"Version":1,"Trial":"t","Later":1}`, quietHost(), 200, `"LogNext":5`},
		{"hello of no version", "POST", "/v1/hello", `{}`, quietHost(), 400, "version 0"},
		{"hello of a later version", "POST", "/v1/hello", `{"Version":99}`, quietHost(), 400, "version 99"},
		{"hello that is no JSON", "POST", "/v1/hello", `{`, quietHost(), 400, `"error"`},
		{"hello with a long name", "POST", "/v1/hello", `{"Version":1,"Trial":"` + strings.Repeat("x", 300) + `"}`, quietHost(), 400, "too long"},
		{"hello that is too large", "POST", "/v1/hello", strings.Repeat(" ", maxQuestion+1), quietHost(), 413, `"error"`},
		{"hello to a broken daemon", "POST", "/v1/hello", `{"Version":1}`, broken, 500, internal},
		{"log", "POST", "/v1/log?offset=10", "abc", quietHost(), 200, `{"Next":13}`},
		{"log without offset", "POST", "/v1/log", "abc", quietHost(), 400, "offset"},
		{"log before the first byte", "POST", "/v1/log?offset=-1", "abc", quietHost(), 400, "offset"},
		{"log that is too large", "POST", "/v1/log?offset=0", strings.Repeat("x", maxChunk+1), quietHost(), 413, `"error"`},
		{"log to a broken daemon", "POST", "/v1/log?offset=0", "x", broken, 500, internal},
		{"event", "POST", "/v1/event", `{"Seq":1,"Type":"started"}`, quietHost(), 204, ""},
		{"event of an unknown type", "POST", "/v1/event", `{"Seq":1,"Type":"party"}`, quietHost(), 400, "party"},
		{"event without number", "POST", "/v1/event", `{"Type":"started"}`, quietHost(), 400, "numbered"},
		{"event with a negative runtime", "POST", "/v1/event", `{"Seq":1,"Type":"exited","Runtime":-5}`, quietHost(), 400, "less"},
		{"event with a long reason", "POST", "/v1/event", `{"Seq":1,"Type":"ended","Reason":"` + strings.Repeat("x", 300) + `"}`, quietHost(), 400, "reason"},
		{"event of trouble", "POST", "/v1/event", `{"Seq":1,"Type":"trouble","Reason":"zombies"}`, quietHost(), 204, ""},
		{"event of the daemon's own", "POST", "/v1/event", `{"Seq":1,"Type":"trouble","Reason":"disk"}`, quietHost(), 400, "disk"},
		{"event of an end by the judge", "POST", "/v1/event", `{"Seq":1,"Type":"ended","Reason":"resolved"}`, quietHost(), 400, "resolved"},
		{"event of a start for another reason", "POST", "/v1/event", `{"Seq":1,"Type":"started","Count":1,"Reason":"budget"}`, quietHost(), 400, "budget"},
		{"event to a broken daemon", "POST", "/v1/event", `{"Seq":1,"Type":"started"}`, broken, 500, internal},
		{"poll", "POST", "/v1/poll", `{"Boot":"b"}`, quietHost(), 200, `{"End":true}`},
		{"poll of nonsense", "POST", "/v1/poll", `{"PIDs":-1}`, quietHost(), 400, "heartbeat"},
		{"poll of a broken daemon", "POST", "/v1/poll", `{}`, broken, 500, internal},
		{"another method", "GET", "/v1/hello", "", quietHost(), 404, `"error"`},
		{"another path", "POST", "/v1/else", "", quietHost(), 404, `"error"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			NewHost(tt.host).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tt.code, tt.want)
			}
		})
	}
}

// TestEachTroubleIsAWordThatTheDaemonKnows: by one that it refused all later events would wait.
func TestEachTroubleIsAWordThatTheDaemonKnows(t *testing.T) {
	for _, reason := range troubles {
		if err := (Event{Seq: 1, Type: EventTrouble, Reason: reason}).check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAHeartbeatIsHeldForTwentySecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quietHost()
		o.Beat = func(ctx context.Context, _ Beat) (Order, error) {
			<-ctx.Done()
			return Order{}, ctx.Err()
		}
		began := time.Now()
		w := httptest.NewRecorder()
		NewHost(o).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/poll", strings.NewReader("{}")))
		if took := time.Since(began); took != 20*time.Second || w.Code != http.StatusOK {
			t.Errorf("answered %d after %s", w.Code, took)
		}
	})
}

func TestDetailsOfEventsAreBounded(t *testing.T) {
	o := quietHost()
	var got Event
	o.Event = func(_ context.Context, e Event) error { got = e; return nil }
	body := `{"Seq":1,"Type":"trouble","Reason":"state","Detail":"` + strings.Repeat("é", MaxDetail) + `"}`
	NewHost(o).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/event", strings.NewReader(body)))
	if len(got.Detail) == 0 || len(got.Detail) > MaxDetail {
		t.Errorf("a detail of %d bytes", len(got.Detail))
	}
}

func FuzzHost(f *testing.F) {
	f.Add("hello", `{"Version":1,"Trial":"t","Deadline":"2030-01-01T00:00:00Z"}`)
	f.Add("event", `{"Seq":1,"Type":"exited","ExitCode":3,"Time":"2030-01-01T00:00:00Z"}`)
	f.Add("poll", `{"PIDs":3}`)
	f.Add("log?offset=7", "text")
	f.Fuzz(func(t *testing.T, path, body string) {
		r, err := http.NewRequest(http.MethodPost, "http://daemon/v1/"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		NewHost(quietHost()).ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
