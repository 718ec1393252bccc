package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// untilAll waits until every run and mining spec is finished.
func (d *daemon) untilAll(t *testing.T) query.Status {
	t.Helper()
	var s query.Status
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		var err error
		if s, err = d.Status(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		open := slices.ContainsFunc(s.Runs, func(r query.RunStatus) bool { return r.State != "finished" || r.Filling }) ||
			slices.ContainsFunc(s.Minings, func(m query.MiningStatus) bool { return m.State != "finished" })
		if !open {
			return s
		}
	}
	text, _ := json.MarshalIndent(s, "", " ")
	t.Fatalf("not all is finished: %s", text)
	return s
}

// trialNamed is the id of the trial of an agent.
func trialNamed(s query.Status, agent string) string {
	for _, r := range s.Runs {
		for _, x := range r.Trials {
			if x.Agent == agent {
				return x.ID
			}
		}
	}
	return ""
}

// ends are how trials ended, a line each, as in the archive.
func ends(s query.Status) string {
	var lines []string
	for _, r := range s.Runs {
		for _, x := range r.Trials {
			rate, rounds, used := 0.0, 0, gateway.Usage{}
			for _, round := range x.Rounds {
				if rounds++; round.Round == x.Best {
					rate = round.Report.PassRate
				}
			}
			if x.Usage != nil {
				used = *x.Usage
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %s %s %g %d %d %d\n", x.ID, x.Agent, x.Try, x.Status, x.Best, rate, rounds, used.InputTokens, used.OutputTokens))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestAStateDirectoryOfAnEarlierVersionGoesOn(t *testing.T) {
	f := unpack(t)
	h := f.fixture(t)
	before := h.linesOf(t)
	stop := f.write(t, h.store)
	d := h.start()
	d.until(t, "at work with what is left", func(r query.RunStatus) bool {
		said := phases(r)
		return strings.Contains(said, "works/1 running") && strings.Contains(said, "lost/2 running") && strings.Contains(said, "between/2 running")
	})
	close(h.let)
	s := d.untilAll(t)
	d.stop()
	stop()

	want := slices.Sorted(strings.Lines(f.files["want/trials"]))
	if diff := cmp.Diff(strings.Join(want, ""), ends(s)); diff != "" {
		t.Errorf("trials end otherwise: %s", diff)
	}
	for _, r := range s.Runs {
		f.sameNumbers(t, r)
	}
	after := h.linesOf(t)
	lost := fmt.Sprintf(`"trial":%q,"try":1,"final":false,`, trialNamed(s, "lost"))
	if !slices.ContainsFunc(after["run.r"], func(l string) bool { return strings.Contains(l, lost) && strings.Contains(l, `"reason":"guest_lost"`) }) {
		t.Error("the container that was gone is no named loss")
	}
	adopted := fmt.Sprintf(`"trial":%q,"event":"adopted"`, trialNamed(s, "works"))
	if !slices.ContainsFunc(after["run.r"], func(l string) bool { return strings.Contains(l, adopted) }) {
		t.Error("the container that was there is not adopted")
	}
	for spec, lines := range before {
		if !slices.Equal(lines, after[spec][:min(len(lines), len(after[spec]))]) {
			t.Errorf("%s had lines that have changed", spec)
		}
	}
	checkRecords(t, after)
	h.checkFiles(t)
	h.checkGame(t)
	checkSpent(t, f)
}

// sameNumbers compares a summary with that of the earlier version, but for what takes time.
func (f *former) sameNumbers(t *testing.T, r query.RunStatus) {
	t.Helper()
	var want summary.Summary
	check(t, json.Unmarshal([]byte(f.files["want/"+r.Address+".json"]), &want))
	untimed := func(s summary.Summary) summary.Summary {
		s.ScoreByTime, s.AgentDurationS, s.JudgeDurationS = nil, 0, 0
		return s
	}
	got := untimed(*r.Summary)
	want = untimed(want)
	for _, s := range []*summary.Summary{&want, &got} {
		for label, one := range s.Agents {
			s.Agents[label] = untimed(one)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s comes to other numbers: %s", r.Address, diff)
	}
}

// linesOf are all stored lines, by spec.
func (h *fixture) linesOf(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		streams, err := tx.Streams()
		for _, s := range streams {
			lines, bad := tx.LinesFrom(s.ID, 1, 1000)
			err = errors.Join(err, bad)
			for _, l := range lines {
				all[s.Spec] = append(all[s.Spec], string(l.Data))
			}
		}
		return err
	}))
	return all
}

// checkRecords holds that nothing is told twice, and nothing is missing.
func checkRecords(t *testing.T, all map[string][]string) {
	t.Helper()
	times := map[string]int{}
	for spec, lines := range all {
		for i, text := range lines {
			var line struct {
				Seq              int
				Type, Trial      string
				Round, Repo      string
				Try, Number      int
				Final            bool
				Verdict, Status  string
				Task, Execution  string
				Reason, Detail   string
				Trigger, Because string
			}
			check(t, json.Unmarshal([]byte(text), &line))
			if line.Seq != i+1 {
				t.Errorf("line %d of %s has seq %d", i+1, spec, line.Seq)
			}
			switch line.Type {
			case "submission":
				times["round "+line.Round+" of "+line.Trial]++
			case "trial.started":
				times[fmt.Sprintf("start of %s, try %d", line.Trial, line.Try)]++
			case "trial.finished":
				times[fmt.Sprintf("end of %s, try %d", line.Trial, line.Try)]++
			case "trial.superseded":
				times["mark of "+line.Trial]++
			case "pr":
				times[fmt.Sprintf("%s#%d", line.Repo, line.Number)]++
			case "run.started", "run.finished", "mining.finished":
				times[line.Type+" of "+spec]++
			}
		}
	}
	for what, n := range times {
		if n != 1 {
			t.Errorf("%s is told %d times", what, n)
		}
	}
	// Eleven trials of which three had two tries, and one was superseded.
	count := func(prefix string) (n int) {
		for what := range times {
			if strings.HasPrefix(what, prefix) {
				n++
			}
		}
		return n
	}
	for prefix, want := range map[string]int{
		"start of": 14, "end of": 14, "mark of": 1, "acme/shop#": 6, "run.started of": 3, "run.finished of": 3, "mining.finished of": 1,
	} {
		if got := count(prefix); got != want {
			t.Errorf("%d times %q, want %d", got, prefix, want)
		}
	}
}

// checkFiles holds that the result files are what is stored.
func (h *fixture) checkFiles(t *testing.T) {
	t.Helper()
	all := h.linesOf(t)
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		streams, err := tx.Streams()
		for _, s := range streams {
			text, bad := os.ReadFile(s.Path)
			err = errors.Join(err, bad)
			if want := strings.Join(all[s.Spec], "\n") + "\n"; string(text) != want || s.Why != "" {
				t.Errorf("%s differs from what is stored of %s: %s", s.Path, s.Spec, cmp.Diff(want, string(text)))
			}
		}
		return err
	}))
}

// checkGame holds that the session which was open has the verdict of its peak, with all moves.
func (h *fixture) checkGame(t *testing.T) {
	t.Helper()
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Trials("run.g", 1)
		if err != nil || len(rows) != 1 {
			return fmt.Errorf("%d trials: %w", len(rows), err)
		}
		subs, err := ledger.OfTrial(tx, rows[0].ID)
		if err != nil || len(subs) != 2 {
			return fmt.Errorf("%d rounds: %w", len(subs), err)
		}
		s := subs[1]
		if s.Round != "game-2" || s.State != round.StateJudged || s.Report.Score == nil || *s.Report.Score != 3 || s.Report.PassRate != 0.75 {
			t.Errorf("the session that was open is %+v, %+v", s, s.Report)
		}
		moves, err := h.store.Blobs().Open(s.Report.Output)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(moves)
		if n := bytes.Count(text, []byte("\n")); n != 5 { // the opening, and four moves
			t.Errorf("its transcript has %d moves: %s", n, text)
		}
		return errors.Join(err, moves.Close())
	}))
}

// checkSpent holds that the sums of what models took are those of the exchanges.
func checkSpent(t *testing.T, f *former) {
	t.Helper()
	db := f.database(t, "ro")
	defer func() { check(t, db.Close()) }()
	sums := func(query string) (all []string) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var line string
			check(t, rows.Scan(&line))
			all = append(all, line)
		}
		check(t, errors.Join(rows.Err(), rows.Close()))
		slices.Sort(all)
		return all
	}
	const of = `SELECT %s || ' e' || execution || ' ' || %s || ' ' || %s || ': ' || %s FROM `
	added := func(trial, try, group string) []string {
		return sums(fmt.Sprintf(of, "spec", trial, try, `count(*) || ' ' || sum(input) || ' ' || sum(output) || ' ' || sum(cached) || ' ' || sum(estimated) || ' ' ||
			sum(cast(round(usd * 1e12) AS INTEGER))`) + "exchanges GROUP BY " + group)
	}
	kept := sums(fmt.Sprintf(of, "spec", "trial", "try", "exchanges || ' ' || input || ' ' || output || ' ' || cached || ' ' || estimated || ' ' || usd") + "spent")
	want := append(added("''", "0", "spec, execution"), added("trial", "try", "spec, execution, trial, try")...)
	for _, line := range kept { // an account without a row is summed up when it is asked for
		if !slices.Contains(want, line) {
			t.Errorf("there is a sum %q, and exchanges come to\n%s", line, strings.Join(want, "\n"))
		}
	}
	if len(kept) == 0 {
		t.Error("there is no sum")
	}
}

// What a daemon did not come to before it ended, the next one does; meanwhile all trials are told.
func TestCellsOfAnEarlierVersionAreMadeByTheNextDaemon(t *testing.T) {
	f := unpack(t)
	h := f.fixture(t)
	reached := make(chan struct{})
	h.tune = func(r *Reconciler) {
		var once sync.Once
		r.upgrade.AtOnce, r.upgrade.After = 2, func(ctx context.Context) {
			once.Do(func() { close(reached) })
			<-ctx.Done()
		}
	}
	d := h.start()
	<-reached
	run := d.until(t, "filled in part", func(r query.RunStatus) bool { return r.Filling })
	want := map[string]int{"unresolved": 2, "resolved": 2, "superseded": 1}
	for state, n := range want {
		if run.Cells[state] != n {
			t.Errorf("while cells are made there are %d %s, want %d: %v", run.Cells[state], state, n, run.Cells)
		}
	}
	if len(run.Trials) != 8 || run.Cells["waiting"] != 0 || run.Summary == nil || run.Summary.Resolved != 2 || run.Summary.Unresolved != 2 {
		t.Errorf("while cells are made there are %d trials, %v", len(run.Trials), run.Cells)
	}
	d.stop()
	if at := h.filled(t); at == "" || at == history.FilledAll {
		t.Errorf("the daemon that ended came to %q", at)
	}
	if err := history.CheckCells(t.Context(), h.store); err == nil {
		t.Error("all cells are there: nothing was left to do")
	}
	h.tune = func(r *Reconciler) { r.upgrade.AtOnce = 3 }
	d = h.start()
	close(h.let)
	d.untilAll(t)
	d.stop()
	if at := h.filled(t); at != history.FilledAll {
		t.Errorf("the next daemon came to %q", at)
	}
}

// filled is how far cells are made.
func (h *fixture) filled(t *testing.T) (at string) {
	t.Helper()
	check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
		at, err = tx.Meta(history.FilledKey)
		return err
	}))
	return at
}

// Who only reads changes nothing: it says what does.
func TestAStateDirectoryOfAnEarlierVersionIsNotReadBeforeADaemonHadIt(t *testing.T) {
	f := unpack(t)
	_, err := store.Open(t.Context(), filepath.Join(f.dir, "s"), store.Options{ReadOnly: true})
	older, ok := errors.AsType[*store.VersionError](err)
	if !ok || older.Found != 4 || older.Known <= 4 || !strings.Contains(err.Error(), "start a daemon on it, which brings it up to date") {
		t.Errorf("it says %v", err)
	}
}

// Between two tries a trial has a status, and no cell before all have theirs.
func TestATrialThatIsGivenUpBeforeItHasACellHasItsRounds(t *testing.T) {
	f := unpack(t)
	h := f.fixture(t)
	r := New(Options{Store: h.store, Log: slog.New(slog.DiscardHandler)})
	check(t, r.upgrade.FillOpen(t.Context()))
	var between trial.State
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Trials("run.r", 1)
		for _, row := range rows {
			s, bad := history.StateOf(row)
			if err = errors.Join(err, bad); s.Cell.Agent.Title() == "between" {
				between = s
			}
		}
		return err
	}))
	check(t, r.trials.Cancel(t.Context(), plan.Action{Trial: between.ID, Cause: "cancelled"}))
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		c, err := tx.Cell(between.ID)
		if c.Rounds != 2 || c.Round != "agent-2" {
			t.Errorf("its cell is %+v", c)
		}
		return err
	}))
}
