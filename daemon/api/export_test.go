package api

import (
	"fmt"
	"maps"
	"slices"

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
	"TaskPage": Page[query.TaskInfo]{}, "PullPage": Page[query.PullInfo]{}, "ActivityPage": Page[query.ActivityInfo]{}, "Activity": query.ActivityInfo{}, "SubmissionPage": Page[trialview.RoundInfo]{},
	"RoundTestPage": Page[trialview.TestInfo]{}, "CellPage": Page[query.CellInfo]{}, "Cell": query.CellInfo{}, "Run": query.RunInfo{}, "Trial": trialview.TrialInfo{}, "Mining": query.MiningInfo{},
	"EventHello": Hello{}, "EventLook": Look{}, "EventHost": HostNow{}, "EventReset": struct{}{}, "Submission": trialview.RoundInfo{}, "OutputPage": trialview.OutputPage{},
}
