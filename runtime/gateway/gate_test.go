package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// users are those who hold requests back.
type users struct {
	mu      sync.Mutex
	why     string
	changed chan struct{}
}

func (u *users) hold(why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.why = why
	if u.changed != nil {
		close(u.changed)
	}
	u.changed = make(chan struct{})
}

func (u *users) held(a Account, provider string) (why string, changed <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.Spec != "run.r" || provider != "p" {
		return "", u.changed
	}
	return u.why, u.changed
}

// A request that users hold goes on when they let it, and is answered as in an outage when that takes a minute: in
// the words of the provider, with Retry-After, and without a word of who holds it. The provider hears nothing of it.
func TestUsersHoldRequests(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol string
		lets     time.Duration // after so long; 0 = never
		status   int
		took     time.Duration
	}{
		{"let in time", wire.OpenAI, 20 * time.Second, 200, 20 * time.Second},
		{"not let", wire.OpenAI, 0, 503, time.Minute},
		{"not let, of the other protocol", wire.Anthropic, 0, 529, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				s := held(t, Provider{Protocol: tt.protocol}, func(*http.Request) (*http.Response, error) {
					asked++
					return answers(200, fine)
				})
				u := &users{}
				var ended []Ended
				s.gateway.opts.HeldBack, s.gateway.opts.Ended = u.held, func(e Ended) { ended = append(ended, e) }
				u.hold("run.r is paused by anna")
				if tt.lets > 0 {
					time.AfterFunc(tt.lets, func() { u.hold("") })
				}
				w, took := s.ask(t.Context(), plain)
				if w.Code != tt.status || took != tt.took || strings.Contains(w.Body.String(), "anna") {
					t.Errorf("%d after %v: %s", w.Code, took, w.Body)
				}
				long, why := s.HeldBack()
				if long != tt.took || (why != "") != (tt.lets == 0) {
					t.Errorf("it was held for %v, and the last one: %q", long, why)
				}
				outcome, at := OutcomeRefused, 0
				if tt.lets > 0 {
					outcome, at = OutcomeOK, 1
				} else if w.Header().Get("Retry-After") == "" {
					t.Error("it is not said when to ask again")
				}
				if len(ended) != 1 || ended[0].Outcome != outcome || !ended[0].Held || asked != at {
					t.Errorf("%d reached the provider: %+v", asked, ended)
				}
			})
		})
	}
}

// The time between two refused requests, in which an agent waits as it was told, counts as held, and what comes
// after the hold does not.
func TestTheTimeThatRequestsAreHeldIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{}, func(*http.Request) (*http.Response, error) { return answers(200, fine) })
		u := &users{}
		s.gateway.opts.HeldBack = u.held
		ask := func(want int) {
			t.Helper()
			if w, _ := s.ask(t.Context(), plain); w.Code != want {
				t.Errorf("answered %d, want %d", w.Code, want)
			}
		}
		u.hold("run.r is paused")
		ask(503)
		time.Sleep(15 * time.Second)
		ask(503)
		time.Sleep(15 * time.Second)
		u.hold("")
		ask(200)
		time.Sleep(time.Hour)
		ask(200)
		if long, why := s.HeldBack(); long != 150*time.Second || why != "" {
			t.Errorf("held for %v, %q", long, why)
		}
		other := another(t, s.gateway, "2")
		if long, _ := other.HeldBack(); long != 0 {
			t.Errorf("another trial was held for %v", long)
		}
	})
}
