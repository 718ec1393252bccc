package query

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/store"
)

// Each rule finds what it is for from its limit on, and nothing before.
func TestWhatLooksWrongWithTheMachine(t *testing.T) {
	for _, tt := range []struct {
		host HostState
		want string // rules
	}{
		{HostState{Free: -1}, ""},
		{HostState{Free: diskLow, LoopAge: loopStuck}, ""},
		{HostState{Free: diskLow - 1}, RuleDisk},
		{HostState{Free: 0, LoopAge: loopStuck + time.Second}, RuleLoop + " " + RuleDisk},
	} {
		if got := rulesOf(hostFindings(tt.host, noon)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.host, got, tt.want)
		}
	}
	if f := hostFindings(HostState{Free: -1, LoopAge: 2 * time.Minute}, noon); !f[0].Since.Equal(noon.Add(-2 * time.Minute)) {
		t.Errorf("it is stuck since %s", f[0].Since)
	}
}

func rulesOf(all []HealthFinding) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Rule)
	}
	return strings.Join(names, " ")
}

// A run is told of if nothing of it starts for a while, or many of its trials are lost.
func TestWhatLooksWrongWithARun(t *testing.T) {
	h := newFixture(t)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, Trigger: "accepted", StartedAt: noon})
	}))
	for _, held := range []RunInfo{{Paused: true}, {Holds: hold.Set{{Target: "all", Kind: hold.Pause}}}} {
		held.Address, held.Execution, held.State, held.Cells = "run.r", 1, "running", map[string]int{"waiting": 5}
		check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
			got, err := runFindings(tx, held, noon.Add(time.Hour))
			if len(got) > 0 {
				t.Errorf("a run that people hold back is found fault with: %+v", got)
			}
			return err
		}))
	}
	for _, tt := range []struct {
		name  string
		cells map[string]int
		after time.Duration
		want  string
	}{
		{"it works", map[string]int{"waiting": 5, history.StateWorking: 1}, time.Hour, ""},
		{"it has just begun", map[string]int{"waiting": 5}, startsLate, ""},
		{"nothing starts", map[string]int{"waiting": 5}, startsLate + time.Second, RuleStarts},
		{"it tries again", map[string]int{"waiting": 5, history.StateRetrying: 1}, time.Hour, ""},
		{"few are lost", map[string]int{"resolved": 19, "infra_error": 1}, time.Hour, ""},
		{"of few", map[string]int{"infra_error": infraTrials - 1}, time.Hour, ""},
		{"many are lost", map[string]int{"resolved": 18, "infra_error": 2}, time.Hour, RuleInfra},
		{"both", map[string]int{"waiting": 1, "infra_error": 30}, time.Hour, RuleInfra + " " + RuleStarts},
	} {
		var got []HealthFinding
		check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
			got, err = runFindings(tx, RunInfo{Address: "run.r", Execution: 1, State: "running", Cells: tt.cells, Note: "waits for room"}, noon.Add(tt.after))
			return err
		}))
		if rules := rulesOf(got); rules != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, rules, tt.want)
		}
		for _, f := range got {
			if f.Address != "run.r" || f.Advice == "" || f.Rule == RuleStarts && (!f.Since.Equal(noon) || !strings.Contains(f.What, "for room")) {
				t.Errorf("%s: %+v", tt.name, f)
			}
		}
	}
}

// Health is the worst first, with since when it is seen, and forgets what is over.
func TestHealth(t *testing.T) {
	h := newFixture(t)
	o := options(h.store)
	o.Host = func() HostState { return HostState{Free: 1} }
	r := New(o)
	publish := func(status config.Status) {
		r.Snapshots.Publish(r.Snapshots.Get().Edit().Done(&config.Set{Files: []config.FileState{{Path: "/w/a.hcl", Display: "a.hcl", Status: status}}}, nil, ""))
	}
	at := func() (Health, string) {
		got, err := r.Health(t.Context())
		check(t, err)
		return got, rulesOf(got.Findings)
	}
	publish(config.Frozen)
	first, rules := at()
	if rules != RuleDisk+" "+RuleSpecs || first.Findings[1].Address != "a.hcl" || first.Findings[1].Since.IsZero() {
		t.Errorf("%+v", first)
	}
	publish(config.Rejected)
	second, _ := at()
	if diff := cmp.Diff(first.Findings[1].Since, second.Findings[1].Since); diff != "" {
		t.Errorf("it is seen since another time: %s", diff)
	}
	publish(config.OK)
	if _, rules := at(); rules != RuleDisk {
		t.Errorf("after it was mended: %s", rules)
	}
	if len(r.seen.at) != 1 {
		t.Errorf("what is over is remembered: %v", r.seen.at)
	}
}

// A receiver that takes nothing for a while is told of.
func TestLateNotices(t *testing.T) {
	h := newFixture(t)
	since := time.Now().UTC()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.PutDelivery(store.Delivery{Name: "notifier.team", Failing: since, Why: "the receiver answers 500"}),
			tx.PutDelivery(store.Delivery{Name: "notifier.ci"}), tx.PutDelivery(store.Delivery{Name: "traces", Failing: since, Why: "no"}))
	}))
	for after, want := range map[time.Duration]string{time.Minute: "", noticesLate + time.Minute: RuleNotices + " " + RuleNotices} {
		var got []HealthFinding
		check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
			got, err = lateNotices(tx, since.Add(after))
			return err
		}))
		if rules := rulesOf(got); rules != want || want != "" && (!got[0].Since.Equal(since) || got[0].What != `The receiver of the notifier "team" takes nothing: the receiver answers 500.` || got[1].What != "The collector takes no traces: no.") {
			t.Errorf("after %s: %+v", after, got)
		}
	}
}

// Records that are in no file for a while are told of.
func TestLateResults(t *testing.T) {
	h := newFixture(t)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		for range 3 {
			if _, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: "/w", Path: "/w/r.jsonl"}, store.Envelope{Type: "x"}, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	for after, want := range map[time.Duration]string{time.Minute: "", resultsLate + time.Minute: RuleResults} {
		var got []HealthFinding
		check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
			got, err = lateResults(tx, time.Now().Add(after))
			return err
		}))
		if rules := rulesOf(got); rules != want || want != "" && (got[0].Address != "run.r" || !strings.HasPrefix(got[0].What, "3 records are not in /w/r.jsonl")) {
			t.Errorf("after %s: %+v", after, got)
		}
	}
}
