package daemon

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// given is an answer that notes until when its pieces must be taken.
type given struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (g *given) SetReadDeadline(time.Time) error { return nil }

func (g *given) SetWriteDeadline(t time.Time) error {
	g.until = append(g.until, t)
	return nil
}

// The time for one answer says nothing about the next on the same connection, which may come much later.
func TestEachPieceOfAnAnswerHasATimeOfItsOwn(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"nothing is written": func(http.ResponseWriter, *http.Request) {},
		"a status alone":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a head that is sent before there is a body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		},
		"a body": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			g := &given{ResponseRecorder: httptest.NewRecorder()}
			before := time.Now()
			bounded(answer).ServeHTTP(g, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if len(g.until) == 0 || g.until[len(g.until)-1].Before(before.Add(bodyPause)) {
				t.Errorf("what the server writes after the handler has the time of a former answer: %v", g.until)
			}
			if name == "a head that is sent before there is a body" && (len(g.until) != 2 || !g.Flushed) {
				t.Errorf("a flush has no time of its own: %v", g.until)
			}
		})
	}
}
