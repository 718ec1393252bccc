package reconcile

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/trial"
)

// withAcme are settings with a provider of models.
func withAcme() *config.Settings {
	settings := config.DefaultSettings(nil)
	settings.Providers = map[string]config.Provider{"acme": {Protocol: "openai", BaseURL: "http://model.test/v1", APIKey: config.SecretText("key"), Prices: map[string]config.Price{"m": {}}}}
	return settings
}

// asks gives the daemons a provider of models, acme, which is never reached.
func (h *fixture) asks(budget config.HostBudget) {
	h.more = func(o *Options) {
		settings := withAcme()
		settings.Budget = budget
		g, err := gateway.New(gateway.Options{
			Providers: []gateway.Provider{{Name: "acme", Protocol: wire.OpenAI, BaseURL: "http://model.test/v1", Key: func() (string, error) { return "key", nil }}},
			Ledger:    ledger.NewUsageLedger(h.store), Log: slog.New(slog.DiscardHandler),
		})
		check(h.t, err)
		h.t.Cleanup(g.Close)
		o.Config.Settings, o.Host.Gateway = settings, g
	}
}

// spends has a trial of run.r charged with so many dollars.
func (h *fixture) spends(id string, usd float64) {
	h.t.Helper()
	check(h.t, h.store.Do(h.t.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, Trial: id, Try: 1, Provider: "acme", Model: "m", USD: usd})
		return err
	}))
}

// paid is run.r with agents x and y, one at a time, whose models may cost what budget says.
func paid(budget string) string {
	text := benchmarkSpec + "agent \"asks\" {\n command = \"work\"\n api = \"openai\"\n}\nrun \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n parallel = 1\n budget {\n" + budget + "\n }\n"
	for _, label := range []string{"x", "y"} {
		text += fmt.Sprintf(" agent \"asks\" {\n  label = %q\n  provider = \"acme\"\n  model = \"m\"\n }\n", label)
	}
	return text + "}\n"
}

// At its limit a run holds or ends, as its file says. A raised budget goes on with what was kept from beginning, and
// begins nothing again that is done.
func TestAtItsLimitARunHoldsOrEnds(t *testing.T) {
	for _, tt := range []struct {
		name, budget, raised string
		usd                  float64 // that the first trial takes
		held                 string  // for what the run waits; "" = it ends
		after                string  // trials when it is raised and over
	}{
		{"holds when it is used up", "total { usd = 2 }\n at_limit = \"hold\"", "total { usd = 3 }\n at_limit = \"hold\"", 2, "the run's budget of 2 USD has 0 left", "x/1 resolved, y/1 resolved"},
		{"holds when no trial fits", "per_trial { usd = 1.5 }\n total { usd = 2 }\n at_limit = \"hold\"", "per_trial { usd = 1.5 }\n total { usd = 3 }\n at_limit = \"hold\"", 1, "the run's budget of 2 USD has 1 left, less than a trial may spend", "x/1 resolved, y/1 resolved"},
		{"ends when it is used up", "total { usd = 2 }", "total { usd = 3 }", 2, "", "x/1 resolved, y/2 resolved"},
		{"ends when no trial fits", "per_trial { usd = 1.5 }\n total { usd = 2 }", "per_trial { usd = 1.5 }\n total { usd = 3 }", 1, "", "x/1 resolved, y/2 resolved"},
		{"holds no more when its file says so", "total { usd = 2 }\n at_limit = \"hold\"", "total { usd = 2 }", 2, "the run's budget of 2 USD has 0 left", "x/1 resolved, y/1 cancelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			h.asks(config.HostBudget{})
			h.write("a.hcl", paid(tt.budget))
			d := h.start()
			run := d.untilTrials(t, "x/1 running")
			h.spends(run.Trials[0].ID, tt.usd)
			close(h.let)
			if tt.held == "" {
				if run = d.untilState(t, "finished"); phases(run) != "x/1 resolved, y/1 cancelled" || run.Trials[1].Reason != gateway.OverUSD {
					t.Errorf("at the limit: %s, %s", phases(run), run.Trials[1].Reason)
				}
			} else {
				run = d.untilNote(t, "held: 1 would start; "+tt.held)
				if phases(run) != "x/1 resolved" || run.State != "running" {
					t.Errorf("at the limit: %s, %s", phases(run), run.State)
				}
				d.stop()
				d = h.start()
				d.untilNote(t, "held: 1 would start; "+tt.held)
			}
			h.write("a.hcl", paid(tt.raised))
			d.look(t)
			run = d.until(t, "over", func(r query.RunStatus) bool { return r.State == "finished" && phases(r) == tt.after })
			if n := strings.Count(h.records(), "run.started"); n != 1 || run.Execution != 1 {
				t.Errorf("%d executions have begun, and it is in e%d", n, run.Execution)
			}
		})
	}
}

// The first version had the budget of a run in the keys of its cells. What it has done counts, and goes on.
func TestKeysOfTheFirstVersionAreTakenOver(t *testing.T) {
	text := paid("total { usd = 2 }")
	h := newFixture(t)
	h.asks(config.HostBudget{})
	h.write("a.hcl", text)
	set := config.Load([]config.Input{{Path: "a.hcl", Display: "a.hcl", Text: []byte(text)}}, nil, config.Options{Settings: withAcme()})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	run, err := plan.Compile(set, *set.Run("r"))
	check(t, err)
	h.plantEnded(run, 1, func(s *trial.State) { s.Key = s.Cell.FormerKey() })
	former, key := run.Cells()[0].Whole().FormerKey(), run.Cells()[0].Key
	if former == key {
		t.Fatal("the keys are alike, so this shows nothing")
	}
	d := h.start()
	seen := d.untilTrials(t, "x/1 resolved, y/1 running")
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Trial(seen.Trials[0].ID)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if row.Cell != key || s.Key != key {
			t.Errorf("its key is %s, and %s in its state, want %s", row.Cell, s.Key, key)
		}
		return err
	}))
	close(h.let)
	d.untilState(t, "finished")
	h.write("a.hcl", paid("total { usd = 5 }"))
	d.look(t)
	if got := phases(d.untilState(t, "finished")); got != "x/1 resolved, y/1 resolved" {
		t.Errorf("after an edit of the budget: %s", got)
	}
	if n := strings.Count(h.records(), "trial.superseded"); n != 0 {
		t.Errorf("%d trials were superseded", n)
	}
}

// A budget of the settings that is used up holds everything, as a hold with its figures, also over a restart; a
// raised one lets it go on. Both are records.
func TestTheBudgetOfADayHoldsEverything(t *testing.T) {
	h := newFixture(t)
	h.asks(config.HostBudget{DayUSD: 5, MonthUSD: 100})
	h.write("a.hcl", paid("total { usd = 1000 }"))
	d := h.start()
	run := d.untilTrials(t, "x/1 running")
	h.spends(run.Trials[0].ID, 5.02)
	d.until(t, "held", func(r query.RunStatus) bool { return len(r.Holds) == 1 })
	close(h.let)
	run = d.untilNote(t, "held: 1 would start; all is held by the budget since ")
	if len(run.Holds) != 1 || run.Holds[0].Kind != hold.Budget || run.Holds[0].Until.IsZero() || !strings.Contains(run.Note, "budget.day of 5 USD reached: models have cost 5.02 USD") {
		t.Errorf("it is held by %v: %s", run.Holds, run.Note)
	}
	if !strings.Contains(fmt.Sprint(run.Findings), "raise budget in the settings") {
		t.Errorf("it is explained by %v", run.Findings)
	}
	if c := d.resumes(t, "all"); c.Changed || c.State != control.Paused || !strings.Contains(c.Says, "held by the budget") {
		t.Errorf("a command lifts it: %+v", c)
	}
	d.stop()
	d = h.start()
	if run := d.untilNote(t, "all is held by the budget"); phases(run) != "x/1 resolved" {
		t.Errorf("after a restart: %s", phases(run))
	}
	d.stop()
	h.asks(config.HostBudget{DayUSD: 6, MonthUSD: 100})
	d = h.start()
	run = d.untilState(t, "finished")
	if phases(run) != "x/1 resolved, y/1 resolved" || len(run.Holds) != 0 {
		t.Errorf("with more: %s, %v", phases(run), run.Holds)
	}
	if diff := cmp.Diff([]string{
		"all budget all by assayd via daemon (budget.day of 5 USD reached: models have cost 5.02 USD) before false after true",
		"all expire all by assayd via daemon (the settings allow more) before true after false",
	}, h.controls("control")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
