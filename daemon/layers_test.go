//go:build linux

package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// What a declared agent has installed is there in a container without a network: made by its
// commands on top of the work image, or taken from an image.
func TestWhatAnAgentHasInstalledIsThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("made/tool.sh", "echo 10 >src/level\n")
	w.write("r.hcl", w.benchmark()+fmt.Sprintf(`
agent "made" {
  dir     = "made"
  install = ["install -m 755 /agent/tool.sh /usr/local/bin/tool", "echo $(id -u) >/root/made-by"]
  command = "test $(cat /root/made-by) = 0 && tool"
}
agent "taken" {
  layer {
    image = %q
  }
  command = "test -x /layer/usr/bin/python3 && ! touch /layer/x 2>/dev/null && echo 10 >src/level"
}
`, base)+w.run("installed", []string{`agent "made" {}`, `agent "taken" {}`}, `timeout = "2m"`, `auto_eval = "0s"`))
	w.serve()
	for _, trial := range w.settled("run.installed", 12*time.Minute).Trials {
		if trial.Status != "resolved" {
			t.Errorf("trial %s (%s): %s %s, %s\n%s", trial.ID, trial.Agent, trial.Status, trial.Reason, trial.Detail, w.agentLog(trial.ID))
		}
	}
}

// A trial that has spent its budget ends with what it has, which is judged; one of a run that
// has nothing left does not begin; and an agent that nobody thinks for is no bad agent.
func TestBudgetsAndProvidersEndTrialsByTheirName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	shell := modeltest.Shell("echo 10 > src/level", "sleep 1", "sleep 1", "sleep 60", "sleep 60")
	w.knows(func(r modeltest.Request) modeltest.Answer {
		if r.Model == "forbidden" {
			return modeltest.Answer{Status: 401, Message: "no such key"}
		}
		return shell(r)
	})
	w.write("r.hcl", w.benchmark()+w.worker()+
		w.run("each", []string{`agent "worker" { model = "scripted" }`}, `timeout = "3m"`, `auto_eval = "0s"`, "budget {\n    per_trial { tokens = 3000 }\n  }")+
		w.run("total", []string{`agent "worker" { model = "scripted" }`}, `timeout = "3m"`, `auto_eval = "0s"`, `attempts = 2`, "budget {\n    total { usd = 0.02 }\n  }")+
		w.run("away", []string{`agent "worker" { model = "forbidden" }`}, `timeout = "3m"`, `auto_eval = "0s"`, `retry { infra = 0 }`, `resume { max = 0 }`))
	w.serve()
	if got := w.settled("run.each", 12*time.Minute).Trials[0]; got.Status != "resolved" || got.Reason != "budget_tokens" || got.Usage.Tokens() < 3000 {
		t.Errorf("it is %s by %s and spent %+v: %s", got.Status, got.Reason, got.Usage, got.Detail)
	}
	if told := ofType("trial.event", w.history("r.run.each.jsonl")); len(told) != 1 || told[0].Event != "budget" {
		t.Errorf("of the end of its budget is told: %+v", told)
	}
	both := w.settled("run.total", 12*time.Minute).Trials
	if len(both) != 2 || both[0].Reason != "budget_usd" || both[1].Reason != "budget_usd" || both[0].Status != "resolved" || both[1].Status != "cancelled" || !both[1].Started.IsZero() {
		t.Errorf("two trials of one budget: %+v", both)
	}
	if got := w.settled("run.away", 12*time.Minute).Trials[0]; got.Status != "infra_error" || got.Reason != "provider" {
		t.Errorf("an agent whose provider takes no key is %s by %s: %s", got.Status, got.Reason, got.Detail)
	}
}
