package cli

import (
	"bytes"
	"errors"
	"testing"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/trial"
)

func TestTheHintToAttachNamesTheSameStateAndSettings(t *testing.T) {
	e := &env{}
	if got, want := e.attach("/w/.assayd", []string{"/w/a.hcl"}), "assayd run --state /w/.assayd /w/a.hcl"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	e.config = "/etc/my settings.hcl"
	got := e.attach("/s", []string{"/w/a.hcl", "/w/it's $HOME.hcl"})
	if want := `assayd run --state /s --config '/etc/my settings.hcl' /w/a.hcl '/w/it'\''s $HOME.hcl'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOnlyARunWhoseTrialsAreAllJudgedSucceeds(t *testing.T) {
	good, bad := trialview.TrialStatus{Status: trial.Unresolved}, trialview.TrialStatus{Status: trial.Cancelled}
	run := func(state string, wanted int, trials ...trialview.TrialStatus) []query.RunStatus {
		return []query.RunStatus{{Address: "run.r", State: state, Wanted: wanted, Trials: trials}}
	}
	for name, test := range map[string]struct {
		runs []query.RunStatus
		ok   bool
	}{
		"all judged":      {run("finished", 2, good, good), true},
		"one cancelled":   {run("finished", 2, good, bad), false},
		"one never began": {run("finished", 2, good), false},
		"none began":      {run("finished", 2), false},
		"no task":         {run("finished", 0), false},
		"blocked":         {run("blocked", 1, good), false},
		"waiting":         {run("waiting", 1), false},
		"no longer there": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			err := (&env{out: &out, err: &problems}).conclude(t.Context(), nil, []string{"run.r"}, followed{runs: test.runs}, outcome{})
			if code := (exit{}); (err == nil) != test.ok || err != nil && (!errors.As(err, &code) || code.code != ExitFailed) {
				t.Errorf("got %v\n%s%s", err, &out, &problems)
			}
		})
	}
}
