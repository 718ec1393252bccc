package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
)

// Overview asks what there is to see at a glance.
func (c *Client) Overview(ctx context.Context) (o query.Overview, err error) {
	return o, c.call(ctx, http.MethodGet, "/v1/overview", nil, &o)
}

func (h *handler) health(w http.ResponseWriter, q *http.Request) {
	s, err := h.r.Health(q.Context())
	answer(w, s, err)
}

func (h *handler) overview(w http.ResponseWriter, q *http.Request) {
	o, err := h.r.Overview(q.Context())
	answer(w, o, err)
}

func (h *handler) runs(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(r query.RunInfo) string { return r.Address }, h.r.RunsAfter)
}

func (h *handler) run(w http.ResponseWriter, q *http.Request) {
	run, err := h.r.RunOf(q.Context(), q.PathValue("run"))
	answer(w, run, err)
}

func (h *handler) executions(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(e query.ExecutionInfo) int { return e.Execution },
		func(ctx context.Context, before, n int) ([]query.ExecutionInfo, error) {
			return h.r.ExecutionsBefore(ctx, q.PathValue("run"), before, n)
		})
}

func (h *handler) specs(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(s query.SpecInfo) string { return s.Path }, h.r.SpecsAfter)
}

func (h *handler) taskPage(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(t query.TaskInfo) string { return t.Address },
		func(ctx context.Context, after string, n int) ([]query.TaskInfo, error) {
			return h.r.TasksAfter(ctx, q.FormValue("of"), after, n)
		})
}

func (h *handler) mining(w http.ResponseWriter, q *http.Request) {
	m, err := h.r.MiningOf(q.Context(), q.PathValue("mining"))
	answer(w, m, err)
}

func (h *handler) pulls(w http.ResponseWriter, q *http.Request) {
	filters := q.URL.Query()
	filter := func(name string) *string {
		if !filters.Has(name) {
			return nil
		}
		value := filters.Get(name)
		return &value
	}
	f := store.PullFilter{Verdict: filter("verdict"), Stage: filter("stage"), Reason: filter("reason")}
	servePage(w, q, func(p query.PullInfo) int64 { return p.N },
		func(ctx context.Context, before int64, n int) ([]query.PullInfo, error) {
			return h.r.PullsBefore(ctx, q.PathValue("mining"), f, before, n)
		})
}

func (h *handler) activity(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(x query.ActivityInfo) int64 { return x.N }, h.r.ActivityBefore)
}

// trials answers with the trials of an execution.
func (h *handler) trials(w http.ResponseWriter, q *http.Request) {
	f, err := cellFilter(q)
	if err != nil {
		fail(w, err)
		return
	}
	servePage(w, q, func(c query.CellInfo) string { return c.Key().String() }, func(ctx context.Context, after string, n int) ([]query.CellInfo, error) {
		key, err := query.ParseCellKey(after)
		if err != nil {
			return nil, invalidf("after is no cursor: %w", err)
		}
		return h.r.CellsAfter(ctx, f, key, n)
	})
}

// cellFilter reads which trials are asked for.
func cellFilter(q *http.Request) (f query.CellFilter, err error) {
	f = query.CellFilter{
		Run: q.FormValue("run"), State: q.FormValue("status"), Agent: q.FormValue("agent"), Model: q.FormValue("model"), Task: q.FormValue("task"), Flag: q.FormValue("flag"), Tag: q.FormValue("tag"),
	}
	switch sort := q.FormValue("sort"); sort {
	case "", "begun":
	case "changed":
		f.Latest = true
	default:
		return f, invalidf("sort=%q: trials are sorted as begun or changed", sort)
	}
	if f.Run == "" {
		return f, invalidf("run is missing: the address of a run, as run.nightly")
	}
	if f.State != "" && !slices.Contains(query.CellStates(), f.State) {
		return f, invalidf("status=%q: a trial is %s", f.State, strings.Join(query.CellStates(), ", "))
	}
	f.Execution, err = Number(q, "execution", 0)
	return f, err
}

func (h *handler) trialInfo(w http.ResponseWriter, q *http.Request) {
	t, err := h.r.Trials.Info(q.Context(), q.PathValue("trial"))
	answer(w, t, err)
}

func (h *handler) rounds(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(r trialview.RoundInfo) int { return r.N },
		func(ctx context.Context, after, n int) ([]trialview.RoundInfo, error) {
			return h.r.Trials.Rounds(ctx, q.PathValue("trial"), after, n)
		})
}

func (h *handler) round(w http.ResponseWriter, q *http.Request) {
	r, err := h.r.Trials.Round(q.Context(), q.PathValue("trial"), q.PathValue("round"))
	answer(w, r, err)
}

func (h *handler) tests(w http.ResponseWriter, q *http.Request) {
	servePage(w, q, func(t trialview.TestInfo) int { return t.N },
		func(ctx context.Context, after, n int) ([]trialview.TestInfo, error) {
			return h.r.Trials.Tests(ctx, q.PathValue("trial"), q.PathValue("round"), q.FormValue("status"), q.FormValue("name"), after, n)
		})
}

// outputPage answers with a part of what the judge command wrote.
func (h *handler) outputPage(w http.ResponseWriter, q *http.Request) {
	offset, err := Number(q, "offset", 0)
	if err != nil {
		fail(w, err)
		return
	}
	page, err := h.r.Trials.OutputAt(q.Context(), q.PathValue("trial"), q.PathValue("round"), int64(offset))
	answer(w, page, err)
}
