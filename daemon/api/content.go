package api

import (
	"net/http"
	"slices"

	"github.com/assayd/assayd/reconcile/request"
)

// numberRoutes answer who is to see no content: with numbers alone, from which the readers have taken all texts of agents and
// tests. A route that is not among them is refused, so that a new one hides what it has until somebody has looked at it.
var numberRoutes = []string{
	"GET /v1/version", "GET /v1/status", "GET /v1/events", "GET /v1/trial", "GET /v1/report", "GET /v1/compare", "GET /v1/openapi.yaml",
	"GET /v1/overview", "GET /v1/health", "GET /v1/runs", "GET /v1/runs/{run}", "GET /v1/runs/{run}/executions", "GET /v1/trials", "GET /v1/trials/{trial}",
	"GET /v1/trials/{trial}/rounds", "GET /v1/trials/{trial}/rounds/{round}", "GET /v1/trials/{trial}/rounds/{round}/tests",
	"GET /v1/notes", "GET /v1/activity", "GET /v1/spending", "GET /v1/specs", "GET /v1/tasks", "GET /v1/mining/{mining}", "GET /v1/mining/{mining}/pulls", "GET /api/v1/tasks",
}

// numbersOnly refuses a route of content to who is to see none.
func numbersOnly(pattern string, serve http.HandlerFunc) http.HandlerFunc {
	if slices.Contains(numberRoutes, pattern) {
		return serve
	}
	return func(w http.ResponseWriter, q *http.Request) {
		if err := request.NeedsContent(q.Context(), "answers of "+pattern); err != nil {
			fail(w, err)
			return
		}
		serve(w, q)
	}
}
