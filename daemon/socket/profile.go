package socket

import (
	"net/http"
	"net/http/pprof"
)

// WithProfiles adds Go's profiles of the daemon to what the control socket serves: they belong
// to who may control it, and are never on a network's listener.
func WithProfiles(control http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", control)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // goroutine, heap and the others by name
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
