package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/query"
)

// TaskList answers GET /api/v1/tasks.
type TaskList struct {
	Tasks []query.TaskInfo `json:"tasks"`
}

// Tasks lists the tasks of the benchmarks that spec files declare, or, without files, of
// those in force.
func (c *Client) Tasks(ctx context.Context, files []string) (l TaskList, err error) {
	return l, c.call(ctx, http.MethodGet, "/api/v1/tasks?"+url.Values{"file": files}.Encode(), nil, &l)
}

// History is the host's view of what was submitted in a trial, or in the last execution of
// a run.
func (c *Client) History(ctx context.Context, name string) (h export.History, err error) {
	return h, c.call(ctx, http.MethodGet, "/api/v1/runs/"+url.PathEscape(name)+"/history", nil, &h)
}

func (h *handler) tasks(w http.ResponseWriter, q *http.Request) {
	tasks, err := h.r.Tasks(q.Context(), q.URL.Query()["file"])
	answer(w, TaskList{tasks}, err)
}

func (h *handler) history(w http.ResponseWriter, q *http.Request) {
	name := q.PathValue("run")
	trials, err := h.r.Records(q.Context(), name)
	answer(w, export.HistoryOfRun(name, trials), err)
}
