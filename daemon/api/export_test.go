package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/reconcile/taskcheck"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/record"
)

// Routes are the patterns of all that a handler serves.
func Routes() []string { return slices.Sorted(maps.Keys((&handler{}).routes())) }

// Kinds are all kinds.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	return all
}

// KindStatuses are all kinds with the status of each.
func KindStatuses() (all []string) {
	for _, k := range kinds {
		all = append(all, fmt.Sprint(k.kind, " ", k.status))
	}
	return all
}

// Limits of pages and bodies.
const (
	DefaultLimit = defaultLimit
	MaxLimit     = maxLimit
	MaxBody      = maxBody
	MaxPatch     = maxPatch
	MaxTopics    = maxTopics
	MaxStreams   = maxStreams
)

// Answers are the Go types behind the schemas of bodies, by their names.
var Answers = map[string]any{
	"Problem": problem{}, "Version": Version{}, "Status": query.Status{}, "TrialStatus": trialview.TrialStatus{},
	"Overview": query.Overview{}, "Health": query.Health{}, "HealthFinding": query.HealthFinding{}, "RunFinding": query.Finding{}, "Login": Login{}, "Holds": Holds{}, "Hold": hold.Hold{}, "HoldAsked": control.Asked{}, "Changed": control.Changed{}, "Ask": control.Ask{}, "MoreTime": control.MoreTime{}, "Extended": trial.Extended{}, "BestRound": trial.Best{}, "PrivateSet": trial.PrivateSet{}, "PrivateScore": trial.Score{}, "RoundCounts": trial.Counts{}, "KeptFile": trial.FileRecord{}, "Notes": Notes{}, "Note": note.Note{}, "Noted": control.Noted{}, "Logout": Logout{}, "Rerun": Rerun{}, "Retried": reconcile.Retried{}, "Files": Files{}, "Submitted": Submitted{}, "Planned": Planned{},
	"ImageWork": taskcheck.ImageWork{}, "ImageLine": imageLine{}, "FetchLine": fetchLine{}, "Sweep": retention.Sweep{}, "Swept": retention.Swept{},
	"Evaluated": Evaluated{}, "Checked": Checked{}, "Report": summary.Report{}, "Compared": summary.Compared{}, "Harness": Harness{},
	"TaskList": TaskList{}, "History": export.History{}, "HistoryEntry": export.Entry{}, "HistoryGame": export.GameEntry{},
	"RunPage": Page[query.RunInfo]{}, "ExecutionPage": Page[query.ExecutionInfo]{}, "SpecPage": Page[query.SpecInfo]{},
	"TaskPage": Page[query.TaskInfo]{}, "PullPage": Page[query.PullInfo]{}, "ActivityPage": Page[query.ActivityInfo]{}, "Activity": query.ActivityInfo{}, "FilePage": Page[trialview.FileInfo]{}, "File": trialview.FileInfo{}, "Spending": query.Spending{}, "SpendingLine": query.SpendingLine{}, "SpendingHour": query.SpendingHour{}, "DearTrial": query.DearTrial{}, "SpendingNow": query.SpendingNow{}, "SpecCost": query.SpecCost{}, "SubmissionPage": Page[trialview.RoundInfo]{},
	"RoundTestPage": Page[trialview.TestInfo]{}, "CellPage": Page[query.CellInfo]{}, "Cell": query.CellInfo{}, "Run": query.RunInfo{}, "Trial": trialview.TrialInfo{}, "About": trialview.About{}, "Limits": record.Limits{}, "Manifest": record.Manifest{}, "Mining": query.MiningInfo{},
	"EventHello": Hello{}, "EventLook": Look{}, "EventHost": HostNow{}, "EventReset": struct{}{}, "Submission": trialview.RoundInfo{}, "OutputPage": trialview.OutputPage{},
}

// Runs asks for a page of the runs, by address.
func (c *Client) Runs(ctx context.Context, after string, limit int) (Page[query.RunInfo], error) {
	return listPage[query.RunInfo](ctx, c, "/v1/runs", nil, after, limit)
}

// Executions asks for a page of a run's executions, the latest first.
func (c *Client) Executions(ctx context.Context, run, after string, limit int) (Page[query.ExecutionInfo], error) {
	return listPage[query.ExecutionInfo](ctx, c, "/v1/runs/"+url.PathEscape(run)+"/executions", nil, after, limit)
}

// Specs asks for a page of the spec files, by path.
func (c *Client) Specs(ctx context.Context, after string, limit int) (Page[query.SpecInfo], error) {
	return listPage[query.SpecInfo](ctx, c, "/v1/specs", nil, after, limit)
}

// Pulls asks for a page of the pull requests that a mining spec has seen, the latest first. Filters
// are stage, reason, and verdict.
func (c *Client) Pulls(ctx context.Context, mining string, filters url.Values, after string, limit int) (Page[query.PullInfo], error) {
	return listPage[query.PullInfo](ctx, c, "/v1/mining/"+url.PathEscape(mining)+"/pulls", filters, after, limit)
}

// Rounds asks for a page of a trial's submissions, in the order in which they were made.
func (c *Client) Rounds(ctx context.Context, trial, after string, limit int) (Page[trialview.RoundInfo], error) {
	return listPage[trialview.RoundInfo](ctx, c, "/v1/trials/"+url.PathEscape(trial)+"/rounds", nil, after, limit)
}

// Tests asks for a page of the tests of a round. Filters are status and name.
func (c *Client) Tests(ctx context.Context, trial, round string, filters url.Values, after string, limit int) (Page[trialview.TestInfo], error) {
	return listPage[trialview.TestInfo](ctx, c, "/v1/trials/"+url.PathEscape(trial)+"/rounds/"+url.PathEscape(round)+"/tests", filters, after, limit)
}

// OutputAt asks for a page of what the judge command wrote in a round, from a byte on.
func (c *Client) OutputAt(ctx context.Context, trial, round string, offset int64) (page trialview.OutputPage, err error) {
	path := "/v1/trials/" + url.PathEscape(trial) + "/rounds/" + url.PathEscape(round) + "/output?offset=" + strconv.FormatInt(offset, 10)
	return page, c.call(ctx, http.MethodGet, path, nil, &page)
}

// listPage asks for a page of a list; after is "" or the Next of the page before, limit 0 is the
// daemon's default.
func listPage[T any](ctx context.Context, c *Client, path string, filters url.Values, after string, limit int) (p Page[T], err error) {
	q := url.Values{}
	for name, values := range filters {
		if len(values) > 0 && values[0] != "" {
			q[name] = values
		}
	}
	if after != "" {
		q.Set("after", after)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return p, c.call(ctx, http.MethodGet, path, nil, &p)
}

// Each calls f with every item of a list, whose pages it reads one after the other. It ends at the
// first error.
func Each[T any](ctx context.Context, page func(ctx context.Context, after string) (Page[T], error), f func(T) error) error {
	for after := ""; ; {
		p, err := page(ctx, after)
		if err != nil {
			return err
		}
		for _, item := range p.Items {
			if err := f(item); err != nil {
				return err
			}
		}
		if after = p.Next; after == "" {
			return nil
		}
	}
}
