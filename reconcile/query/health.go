package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// Health is what looks wrong with the daemon and its work, the worst first.
type Health struct {
	Time     time.Time       `json:"time"`
	Findings []HealthFinding `json:"findings"`
}

// HealthFinding is one thing that looks wrong.
type HealthFinding struct {
	Severity string    `json:"severity"`          // error, warning
	Rule     string    `json:"rule"`              // one of the names below
	What     string    `json:"what"`              // in a sentence
	Since    time.Time `json:"since"`             // when it began, or when this daemon first saw it
	Address  string    `json:"address,omitempty"` // of a run or another spec, or a spec file; absent = it is about the machine
	Advice   string    `json:"advice"`
}

// Rules of health.
const (
	RuleLoop    = "loop_stuck"
	RuleDisk    = "disk_low"
	RuleResults = "results_late"
	RuleSpecs   = "specs_rejected"
	RuleInfra   = "infra_errors"
	RuleStarts  = "nothing_starts"
	RuleNotices = "notices_late"
)

// HostState is what a daemon knows of itself and its machine.
type HostState struct {
	LoopAge time.Duration // of the present turn of the reconcile loop
	Free    int64         // bytes of the disk where containers are kept; negative = that is not known
}

// From when on something is a finding.
const (
	loopStuck   = time.Minute
	diskLow     = 10 << 30 // bytes
	resultsLate = 10 * time.Minute
	noticesLate = 10 * time.Minute
	startsLate  = 15 * time.Minute
	infraShare  = 0.05
	infraTrials = 20 // that are over
	maxFindings = 20 // of one rule
)

// firstSeen remembers since when findings are there that no record tells the beginning of.
type firstSeen struct {
	mu sync.Mutex
	at map[[2]string]time.Time // by rule and address
}

// since fills in what is missing of findings, and forgets those that are over.
func (s *firstSeen) since(all []HealthFinding, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.at
	s.at = map[[2]string]time.Time{}
	for i := range all {
		f := &all[i]
		if !f.Since.IsZero() {
			continue
		}
		key := [2]string{f.Rule, f.Address}
		at, seen := known[key]
		if !seen {
			at = now
		}
		s.at[key], f.Since = at, at
	}
}

// Health says what looks wrong.
func (r *Reader) Health(ctx context.Context) (Health, error) {
	overview, err := r.Overview(ctx)
	if err != nil {
		return Health{}, err
	}
	return r.HealthOf(ctx, overview)
}

// HealthOf is Health for whoever has read the overview already.
func (r *Reader) HealthOf(ctx context.Context, overview Overview) (h Health, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return h, err
	}
	h = Health{Time: clock.Now().UTC(), Findings: []HealthFinding{}}
	if r.o.Host != nil {
		h.Findings = append(h.Findings, hostFindings(r.o.Host(), h.Time)...)
	}
	h.Findings = append(h.Findings, specFindings(now)...)
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		late, err := lateResults(tx, h.Time)
		h.Findings = append(h.Findings, late...)
		if err == nil {
			late, err = lateNotices(tx, h.Time)
			h.Findings = append(h.Findings, late...)
		}
		for _, run := range overview.Runs {
			if err == nil && run.State == "running" {
				var found []HealthFinding
				found, err = runFindings(tx, run, h.Time)
				h.Findings = append(h.Findings, found...)
			}
		}
		return err
	})
	if err != nil {
		return h, err
	}
	r.seen.since(h.Findings, h.Time)
	slices.SortStableFunc(h.Findings, func(a, b HealthFinding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.Since.Compare(b.Since))
	})
	return h, nil
}

func hostFindings(host HostState, now time.Time) (all []HealthFinding) {
	if host.LoopAge > loopStuck {
		all = append(all, HealthFinding{
			Severity: "error", Rule: RuleLoop, Since: now.Add(-host.LoopAge), What: fmt.Sprintf("The reconcile loop has been at one turn for %s: nothing new is begun.", host.LoopAge.Round(time.Second)),
			Advice: "the daemon's log says what it is at; if it does not go on, restart the daemon, which loses nothing",
		})
	}
	if host.Free >= 0 && host.Free < diskLow {
		all = append(all, HealthFinding{
			Severity: "warning", Rule: RuleDisk, What: fmt.Sprintf("The disk of containers has %s left.", humanize.IBytes(uint64(host.Free))),
			Advice: "assayd gc removes what nothing needs any more; or give it more room",
		})
	}
	return all
}

func specFindings(now *snapshot.Snapshot) (all []HealthFinding) {
	if now.Set == nil {
		return nil
	}
	for _, f := range now.Set.Files {
		if f.Status != config.Rejected && f.Status != config.Frozen || len(all) == maxFindings {
			continue
		}
		what := "is rejected: nothing of it is in force"
		if f.Status == config.Frozen {
			what = "is rejected: the version that was accepted before stays in force"
		}
		all = append(all, HealthFinding{Severity: "warning", Rule: RuleSpecs, Address: f.Display, What: f.Display + " " + what + ".", Advice: "the page of specs, or assayd validate, says where it is wrong"})
	}
	return all
}

// lateResults are streams of records that are not in their files for a while.
func lateResults(tx *store.Tx, now time.Time) (all []HealthFinding, err error) {
	late, err := tx.UnwrittenLines(maxFindings)
	for _, l := range late {
		var head struct {
			Time time.Time `json:"time"`
		}
		if err := json.Unmarshal(l.Data, &head); err != nil {
			return all, fmt.Errorf("read a record of %s: %w", l.Spec, err)
		}
		if now.Sub(head.Time) > resultsLate {
			all = append(all, HealthFinding{
				Severity: "error", Rule: RuleResults, Since: head.Time, Address: l.Spec, What: fmt.Sprintf("%d records are not in %s.", l.Missing, l.Path),
				Advice: "look whether the folder can be written and has room; they are safe in the state directory, and written as soon as it can",
			})
		}
	}
	return all, err
}

// lateNotices are receivers of notices and traces that take none for a while.
func lateNotices(tx *store.Tx, now time.Time) (all []HealthFinding, err error) {
	deliveries, err := tx.Deliveries()
	for _, d := range deliveries {
		if d.Failing.IsZero() || now.Sub(d.Failing) < noticesLate || len(all) == maxFindings {
			continue
		}
		what := "The collector takes no traces"
		if name, is := strings.CutPrefix(d.Name, "notifier."); is {
			what = fmt.Sprintf("The receiver of the notifier %q takes nothing", name)
		}
		all = append(all, HealthFinding{
			Severity: "warning", Rule: RuleNotices, Since: d.Failing, What: what + ": " + d.Why + ".",
			Advice: "look at its address and key in the settings; it is told all as soon as it takes something",
		})
	}
	return all, err
}

// runFindings are those about the execution of a run that works.
func runFindings(tx *store.Tx, run RunInfo, now time.Time) (all []HealthFinding, err error) {
	done, lost := Done(run.Cells), run.Cells[string(trial.InfraError)]
	if done >= infraTrials && float64(lost) > infraShare*float64(done) {
		all = append(all, HealthFinding{
			Severity: "warning", Rule: RuleInfra, Address: run.Address, What: fmt.Sprintf("%d of %d trials were lost to the machine or the model provider.", lost, done),
			Advice: "look at their reasons, then at assayd doctor; assayd retry gives them another try",
		})
	}
	c := run.Cells
	if run.Paused || slices.ContainsFunc(run.Holds, func(h hold.Hold) bool { return h.Kind != hold.Throttle }) { // people want it so
		return all, nil
	}
	if c[stateWaiting] == 0 || c[history.StateSetup]+c[history.StateWorking]+c[history.StateJudging]+c[history.StateRetrying] > 0 {
		return all, nil
	}
	e, err := tx.LatestExecution(run.Address)
	if err != nil {
		return all, err
	}
	since := e.StartedAt
	last, err := tx.CellsOf(store.CellQuery{Spec: run.Address, Execution: run.Execution, Latest: true, Limit: 1})
	for _, cell := range last {
		for _, at := range []time.Time{cell.Created, cell.Ended, cell.Finished} {
			if at.After(since) {
				since = at
			}
		}
	}
	if now.Sub(since) > startsLate {
		all = append(all, HealthFinding{
			Severity: "warning", Rule: RuleStarts, Since: since, Address: run.Address, What: fmt.Sprintf("%d cells wait, and none works%s.", c[stateWaiting], because(run.Note)),
			Advice: "compare what its tasks ask of the machine with the limits: the page of the machine shows who holds what",
		})
	}
	return all, err
}
