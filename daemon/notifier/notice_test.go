package notifier

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
)

// line is a record as it stands in the store.
func line(n int, fields string) store.NumberedLine {
	return store.NumberedLine{N: int64(n), Stream: "run.r", Data: fmt.Appendf(nil, `{"v":1,"seq":%d,"time":"2026-01-02T03:04:05Z","spec":"run.r",%s}`, n, fields)}
}

func told(all []Notice) (texts []string) {
	for _, x := range all {
		texts = append(texts, x.ID+" "+x.Kind+": "+x.Text)
	}
	return texts
}

func TestNoticesAreMadeOfRecords(t *testing.T) {
	for name, tt := range map[string]struct{ record, want string }{
		"a run that is finished": {
			`"type":"run.finished","execution":"e3","total":40,"resolved":25,"infra_error":1,"resolved_rate":{"value":0.641},"usage":{"cost_usd":12.345}`,
			"run.r:1 run.finished: run.r e3 is finished: 25 of 40 trials are resolved (64.1 %), the machine lost 1, $12.35",
		},
		"a run without trials that count": {
			`"type":"run.finished","execution":"e1","total":0,"resolved":0,"resolved_rate":null,"usage":{}`,
			"run.r:1 run.finished: run.r e1 is finished: 0 of 0 trials are resolved, $0.00",
		},
		"mining": {
			`"type":"mining.finished","accepted":3,"seen":40,"cost_usd":1.5`,
			"run.r:1 mining.finished: run.r is finished: 3 tasks of 40 pull requests, $1.50",
		},
		"a rejected file": {
			`"type":"spec.rejected","diagnostics":[{"severity":"warning","file":"a.hcl","line":1},{"severity":"error","file":"a.hcl","line":7},{"severity":"error","file":"a.hcl","line":9}]`,
			"run.r:1 specs.rejected: a spec file is rejected, with 2 errors, the first at a.hcl:7",
		},
		"a list that is in a file of its own": {
			`"type":"spec.rejected","diagnostics":{"file":"lists/x","sha256":"0"}`,
			"run.r:1 specs.rejected: a spec file is rejected, with 0 errors",
		},
		"a pause": {
			`"type":"control","action":"pause","target":"run.r","by":"anna","reason":"a <secret>","before":null,"after":{"until":"2026-01-02T09:00:00Z"}`,
			"run.r:1 held: run.r is paused until 2026-01-02T09:00:00Z by anna",
		},
		"a throttle": {
			`"type":"control","action":"throttle","target":"run.r","by":"anna","after":{"most":2}`,
			"run.r:1 held: run.r is throttled to 2 by anna",
		},
		"a hold that has ended": {`"type":"control","action":"expire","target":"run.r","by":"","after":null`, "run.r:1 held: run.r is not held any more: the hold has ended"},
		"a budget of the settings": {
			`"type":"control","action":"budget","target":"all","by":"","after":{"kind":"budget","until":"2026-01-03T00:00:00Z"}`,
			"run.r:1 budget: a budget of the settings is used up: all is held until 2026-01-03T00:00:00Z",
		},
		"another command": {`"type":"control","action":"cancel","target":"run.r","by":"anna"`, ""},
		"a doubtful verdict": {
			`"type":"trial.finished","trial":"r.e1.0","final":true,"status":"resolved","flags":["oom","tampered","cheat:upstream"]`,
			"run.r:1 flagged: run.r: the trial r.e1.0 is flagged: tampered, cheat:upstream",
		},
		"a flag that questions nothing": {`"type":"trial.finished","trial":"r.e1.0","final":true,"status":"resolved","flags":["no_manifest"]`, ""},
		"a try that does not count":     {`"type":"trial.finished","trial":"r.e1.0","final":false,"status":"infra_error","flags":["tampered"]`, ""},
		"flags that came later": {
			`"type":"trial.flagged","trial":"r.e1.0","flags":["cheat:models"],"findings":[{"evidence":"SECRET"}]`,
			"run.r:1 flagged: run.r: the trial r.e1.0 is flagged: cheat:models",
		},
		"what nobody is told":  {`"type":"submission","trial":"r.e1.0"`, ""},
		"what is not a record": {`"type":`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(told(known{}.notices(line(1, tt.record))), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Four of the last twenty tries are too many; it is over at two.
func TestARunFailsWhereTheMachineFailsTooManyTries(t *testing.T) {
	k, n := known{}, 0
	var got []string
	try := func(times int, status string) {
		for range times {
			n++
			got = append(got, told(k.notices(line(n, fmt.Sprintf(`"type":"trial.finished","trial":"t","status":%q`, status))))...)
		}
	}
	try(10, "resolved")
	try(3, "infra_error")
	try(1, "setup_error")
	try(2, "infra_error")
	try(30, "resolved")
	want := []string{
		"run.r:15 run.failing: run.r: the machine failed 4 of its last 15 tries",
		"run.r:33 run.failing: run.r: the machine does not fail it any more, 2 of its last 20 tries",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	k.notices(line(n+1, `"type":"run.finished"`))
	if len(k) != 0 {
		t.Errorf("of a run that is finished is kept %v", k)
	}
	for i := range 2 * maxRuns {
		k.tried(record{Spec: fmt.Sprint("run.", i)}, int64(i))
	}
	if len(k) != maxRuns || k[fmt.Sprint("run.", 2*maxRuns-1)] == nil {
		t.Errorf("of %d runs are kept", len(k))
	}
}

// One record may make two notices, of two ids.
func TestTwoNoticesOfARecordHaveTwoIDs(t *testing.T) {
	k := known{"run.r": {Lost: "xxx"}}
	got := told(k.notices(line(9, `"type":"trial.finished","trial":"t","final":true,"status":"infra_error","flags":["tampered"]`)))
	if diff := cmp.Diff([]string{"run.r:9 flagged: run.r: the trial t is flagged: tampered", "run.r:9:run.failing run.failing: run.r: the machine failed 4 of its last 4 tries"}, got); diff != "" {
		t.Error(diff)
	}
}

// The example of the specification of Standard Webhooks.
func TestMessagesAreSignedAsStandardWebhooksSays(t *testing.T) {
	key, err := config.NotifierKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	message{id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: []byte(`{"test": 2432232314}`)}.sign(h, key, time.Unix(1614265330, 0))
	if got := h.Get("Webhook-Signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
	if h.Get("Webhook-Id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || h.Get("Webhook-Timestamp") != "1614265330" {
		t.Error(h)
	}
}

func TestTextsMeanNothingToAChat(t *testing.T) {
	for text, want := range map[string]string{
		"<!channel> & <https://x|y>": "&lt;!channel&gt; &amp; &lt;https://x|y&gt;",
		"@everyone":                  "@\u200beveryone",
		"a\nb\x1b[31m\u202ec":        "a b[31mc",
		"`rm` *x* [a](b)":            "'rm' ∗x∗ [a]\u200b(b)",
		strings.Repeat("x", 1000):    strings.Repeat("x", maxText-1) + "…",
		"run.my_run is finished":     "run.my_run is finished",
		"bad \xff":                   "bad �",
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A digest of many stays short, and says how many there are.
func TestADigestForAChatIsShort(t *testing.T) {
	of := make([]Notice, maxDigest)
	for i := range of {
		of[i] = Notice{Kind: config.OnFlagged, Text: strings.Repeat("y", 200)}
	}
	text := slack(of)
	if len(text) > maxSlack+20 || !strings.HasPrefix(text, "50 notices: 50 flagged\n") || !strings.HasSuffix(text, "\nand 41 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// What is wrong for five minutes is told once, and again when it is over. What is not known changes nothing.
func TestTheMachineIsToldOf(t *testing.T) {
	began := time.Unix(0, 0)
	since, was := map[string]time.Time{}, map[string]bool{}
	for _, step := range []struct {
		minute       int
		wrong, known bool
		want         int
	}{
		{0, true, true, 0},
		{4, true, true, 0},
		{5, true, true, 1},
		{6, true, true, 0},
		{7, false, false, 0},
		{8, false, true, 1},
		{9, false, true, 0},
		{10, true, true, 0},
		{14, false, true, 0},
		{16, true, true, 0},
	} {
		tell := judged([]condition{{name: "engine", wrong: step.wrong, known: step.known}}, since, was, began.Add(time.Duration(step.minute)*time.Minute))
		if len(tell) != step.want {
			t.Errorf("minute %d: %d notices, want %d", step.minute, len(tell), step.want)
		}
		for _, c := range tell {
			was[c.name] = c.wrong
		}
	}
}

func TestLevelsOfBudgets(t *testing.T) {
	for _, tt := range []struct {
		usd    float64
		tokens int64
		want   int
	}{{0, 0, 0}, {4.99, 0, 0}, {5, 0, 50}, {7.99, 0, 50}, {8, 0, 80}, {10, 0, 100}, {50, 0, 100}, {1, 850, 80}} {
		if got := reached(budget(10, 1000), store.Spent{USD: tt.usd, Input: tt.tokens}); got != tt.want {
			t.Errorf("$%.2f and %d tokens: %d %%, want %d %%", tt.usd, tt.tokens, got, tt.want)
		}
	}
}
