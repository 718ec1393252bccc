package reconcile

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// pit is a house whose daemons mine. GitHub has nothing, and says so when it is let.
type pit struct {
	*fixture
	tell chan struct{} // closed: GitHub answers
}

func newPit(t *testing.T) *pit {
	t.Helper()
	p := &pit{fixture: newFixture(t), tell: make(chan struct{})}
	settings := config.DefaultSettings(nil)
	settings.Providers = map[string]config.Provider{"p": {Protocol: "openai", BaseURL: "http://model.test/v1", APIKey: config.SecretText("key")}}
	clones := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	p.more = func(o *Options) {
		g, err := gateway.New(gateway.Options{
			Providers: []gateway.Provider{{Name: "p", Protocol: wire.OpenAI, BaseURL: "http://model.test/v1", Key: func() (string, error) { return "key", nil }}},
			Ledger:    ledger.NewUsageLedger(p.store), Log: log,
		})
		check(t, err)
		t.Cleanup(g.Close)
		hub := githubtest.Offline(githubtest.World{})
		client, err := github.Open(github.Options{BaseURL: hub.API, Client: &http.Client{Transport: &held{hub.Transport(), p.tell}}})
		check(t, err)
		t.Cleanup(client.Close)
		repos, err := extract.New(extract.Options{Dir: clones})
		check(t, err)
		o.Config.Settings, o.Host.Gateway = settings, g
		o.Mining = func(config.Mining) (mining.Options, error) { return mining.Options{GitHub: client, Repos: repos}, nil }
	}
	return p
}

// held lets requests through when it is let.
type held struct {
	http.RoundTripper
	let chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (h *held) RoundTrip(q *http.Request) (*http.Response, error) {
	select {
	case <-h.let:
		return h.RoundTripper.RoundTrip(q)
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// pulls is mining.x with these lines.
func pulls(lines string) string { return pullsOf("x", lines) }

func pullsOf(name, lines string) string {
	return fmt.Sprintf("mining %q {\n source \"repos\" { names = [\"acme/shop\"] }\n provider = \"p\"\n model = \"m\"\n %s\n}\n", name, lines)
}

// overQuarry is run.r over mining.x.
const overQuarry = "run \"r\" {\n tasks = [mining.x]\n auto_eval = \"0s\"\n agent \"nop\" {}\n}\n"

// untilMining waits until a mining spec is in a state.
func (d *daemon) untilMining(t *testing.T, address, state string) (m query.MiningStatus) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		s, err := d.Status(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Minings, func(m query.MiningStatus) bool { return m.Address == address })
		if i < 0 {
			m = query.MiningStatus{State: "forgotten"}
		} else {
			m = s.Minings[i]
		}
		if m.State == state {
			return m
		}
	}
	t.Fatalf("%s never was %s: %+v", address, state, m)
	return m
}

// Files that are handed in again have all go on that was cancelled.
func TestMiningThatWasCancelledGoesOnWhenItIsHandedInAgain(t *testing.T) {
	p := newPit(t)
	d := p.start()
	dir := t.TempDir()
	put(t, dir, "m.hcl", pullsOf("x", "")+pullsOf("y", ""))
	paths := []string{filepath.Join(dir, "m.hcl")}
	for range 2 {
		if addresses, ds, err := d.Submit(t.Context(), paths); err != nil || len(addresses) != 2 {
			t.Fatal(addresses, ds, err)
		}
		for _, address := range []string{"mining.x", "mining.y"} {
			d.untilMining(t, address, "running")
		}
		for _, address := range []string{"mining.x", "mining.y"} {
			check(t, d.cancel(t.Context(), address))
			d.untilMining(t, address, "cancelled")
		}
	}
}

// has stores that mining.x has made a task.
func (p *pit) has(name string) {
	p.t.Helper()
	set := config.Load([]config.Input{{Path: "/b.hcl", Text: []byte(benchmarkSpec)}}, nil, config.Options{})
	task, err := plan.CompileTask(tasklookup.All(set)[0])
	check(p.t, err)
	task.Benchmark, task.Name = "x", name
	check(p.t, p.store.Do(p.t.Context(), func(tx *store.Tx) error {
		return tx.PutMined(store.MinedRow{Spec: "mining.x", Task: name, Data: mustJSON(p.t, task)})
	}))
}

// A run stands in another file than the mining block, which is taken out of its own.
func TestARunIsOverWhenTheBlockThatItGrowsByIsGone(t *testing.T) {
	p := newPit(t)
	p.has("one")
	p.write("m.hcl", pulls(""))
	p.write("r.hcl", overQuarry)
	d := p.start()
	close(p.let)
	d.until(t, "settled", func(r query.RunStatus) bool { return r.State == "running" && phases(r) == "nop/1 resolved" })
	p.write("m.hcl", "locals {}\n")
	d.look(t)
	d.untilMining(t, "mining.x", "removed")
	if run := d.untilTrials(t, "nop/1 resolved"); run.State != "running" {
		t.Errorf("within the grace it is %s", run.State)
	}
	check(t, d.do(t.Context(), func() {
		d.runs.gone["mining.x"] = d.runs.now().Add(-plan.RemovalGrace)
		d.runs.queue.Add("mining.x", d.runs.now())
	}))
	d.untilState(t, "finished")
}

// A drain waits for what runs of a run that grows, and for nothing else of it.
func TestADrainEndsMiningAndFinishesWhatRuns(t *testing.T) {
	p := newPit(t)
	p.has("one")
	p.has("two")
	p.write("a.hcl", pulls("")+overQuarry)
	d := p.start()
	d.untilMining(t, "mining.x", "running")
	before := d.untilTrials(t, "nop/1 running")
	drained := make(chan error, 1)
	go func() { drained <- d.Drain(t.Context()) }()
	d.untilMining(t, "mining.x", "waiting")
	close(p.let)
	check(t, <-drained)
	check(t, d.do(t.Context(), func() { d.runs.queue.Add("run.r", d.runs.now()) }))
	if run := d.untilTrials(t, "nop/1 resolved"); run.Trials[0].ID != before.Trials[0].ID || run.Wanted != 2 {
		t.Errorf("%+v", run)
	}
	d.stop()
	next := p.start()
	next.untilMining(t, "mining.x", "running")
	next.untilTrials(t, "nop/1 resolved, nop/1 resolved")
}

// A spec that cannot begin says why, and can be cancelled: it does not begin by itself later.
func TestMiningThatCannotBeginIsTold(t *testing.T) {
	p := newPit(t)
	able := p.more
	p.more = func(o *Options) {
		able(o)
		o.Mining = func(config.Mining) (mining.Options, error) { return mining.Options{}, errors.New("the list is gone") }
	}
	p.write("a.hcl", pulls(""))
	d := p.start()
	if m := d.untilMining(t, "mining.x", "waiting"); m.Note != "begin mining.x: the list is gone" {
		t.Errorf("it waits, and says %q", m.Note)
	}
	check(t, d.cancel(t.Context(), "mining.x"))
	if m := d.untilMining(t, "mining.x", "cancelled"); m.Note != "" {
		t.Errorf("it is cancelled, and says %q", m.Note)
	}
	if c, err := d.Cancel(t.Context(), control.Ask{Target: "mining.x"}); err != nil || c.Changed {
		t.Errorf("cancelled once more: %+v, %v", c, err)
	}
	d.stop()
	p.more = able
	next := p.start()
	check(t, next.do(t.Context(), func() { check(t, next.minings.reconcile(t.Context(), "mining.x")) }))
	next.untilMining(t, "mining.x", "cancelled")
}

// What a spec wants and may spend is told of one that is over, too.
func TestAMiningSpecThatIsOverHasItsLimits(t *testing.T) {
	p := newPit(t)
	p.write("a.hcl", pulls("max_tasks = 3\n budget {\n total { tokens = 500 }\n }"))
	d := p.start()
	at := d.untilMining(t, "mining.x", "running").Progress
	close(p.tell)
	end := d.untilMining(t, "mining.x", "finished").Progress
	for state, progress := range map[string]mining.Progress{"at work": at, "over": end} {
		if progress.Wanted != 3 || progress.BudgetLeft["tokens"] != 500 {
			t.Errorf("%s: wanted are %d, left %v", state, progress.Wanted, progress.BudgetLeft)
		}
	}
}
