package api

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// router is a ServeMux whose own refusals are problems, too.
type router struct{ mux http.ServeMux }

// ServeHTTP implements http.Handler.
func (r *router) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	next, pattern := r.mux.Handler(q)
	if pattern != "" {
		r.mux.ServeHTTP(w, q) // it sets the values of the path
		return
	}
	own := &unsent{header: http.Header{}}
	next.ServeHTTP(own, q)
	if own.status == http.StatusMethodNotAllowed {
		allowed := own.header.Get("Allow")
		w.Header().Set("Allow", allowed)
		Refuse(w, own.status, Invalid, fmt.Sprintf("%s does not take %s, but %s", q.URL.Path, q.Method, allowed))
		return
	}
	Refuse(w, http.StatusNotFound, NotFound, fmt.Sprintf("there is no %s; GET /v1/openapi.yaml lists what there is", q.URL.Path))
}

// unsent is an answer of which only the head is kept.
type unsent struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (u *unsent) Header() http.Header { return u.header }

// WriteHeader implements http.ResponseWriter.
func (u *unsent) WriteHeader(status int) { u.status = status }

// Write implements http.ResponseWriter.
func (u *unsent) Write(p []byte) (int, error) { return len(p), nil }

// maxBody bounds the JSON of a request, in bytes.
const maxBody = 1 << 20

// readBody reads the JSON of a request.
func readBody(w http.ResponseWriter, q *http.Request, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, q.Body, maxBody)).Decode(into); err != nil {
		return invalidf("read the body: %w", err)
	}
	return nil
}
