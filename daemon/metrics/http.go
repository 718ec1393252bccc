package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// streams are routes whose answers last as long as somebody listens.
var streams = map[string]bool{"GET /v1/events": true, "GET /v1/logs": true, "GET /v1/results": true}

// HTTP counts the requests to a handler, by the pattern of their route: a path is never a label.
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		began, answer := time.Now(), &answer{ResponseWriter: w}
		if q.Method == http.MethodGet && q.URL.Path == "/v1/events" {
			m.counters.clients.Inc()
			defer m.counters.clients.Dec()
		}
		defer func() {
			route := routeOf(q)
			m.counters.httpRequests.WithLabelValues(route, strconv.Itoa(answer.code())).Inc()
			if !streams[route] {
				m.counters.httpRequest.WithLabelValues(route).Observe(time.Since(began).Seconds())
			}
		}()
		next.ServeHTTP(answer, q)
	})
}

// routeOf is the pattern that the last router has found for a request.
func routeOf(q *http.Request) string {
	if q.Pattern == "" || q.Pattern == "/" || strings.HasSuffix(q.Pattern, "v1/") { // no router knows it
		return other
	}
	return q.Pattern
}

// answer remembers the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// Unwrap lets others reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// code is the status of what was answered; without a word it is 200.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}
