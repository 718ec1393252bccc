package web

import (
	"net/http"

	"github.com/assayd/assayd/daemon/api"
)

// Probe answers whether the daemon is fit; with details where who asks may know why it is not.
type Probe func(w http.ResponseWriter, details bool)

// monitoring adds what programs that watch the daemon ask. Numbers need a token or a session; whether the daemon
// is fit anybody may ask, and be told in a word.
func (s *Server) monitoring(mux *http.ServeMux) {
	if s.o.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, q *http.Request) {
			if !s.looks(q) {
				unauthorized(w)
				return
			}
			s.o.Metrics.ServeHTTP(w, q)
		})
	}
	for path, answer := range s.o.Probes {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, q *http.Request) { answer(w, s.looks(q)) })
	}
}

// looks reports whether who sends a request may look: it shows a token, or has a session.
func (s *Server) looks(q *http.Request) bool {
	if q.Header.Get("Authorization") != "" {
		_, ok := tokenOf(s.o.Tokens, bearer(q))
		return ok
	}
	return s.roleOf(q) != ""
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="assayd"`)
	w.Header().Set("Connection", "close") // its body is not waited for
	api.Refuse(w, http.StatusUnauthorized, api.Unauthorized, "this needs the header Authorization: Bearer TOKEN")
}
