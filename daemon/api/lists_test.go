package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
)

// every reads a list in pages of a size and returns a word for each item.
func every[T any](t *testing.T, page func(ctx context.Context, after string) (api.Page[T], error), word func(T) string) (all []string) {
	t.Helper()
	if err := api.Each(t.Context(), page, func(item T) error { all = append(all, word(item)); return nil }); err != nil {
		t.Error(err)
	}
	return all
}

func expect[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRunsAndTheirExecutionsComeInPages(t *testing.T) {
	f := newFixture(t, seeded(5, 2, 1))
	for _, limit := range []int{1, 2, 100} {
		got := every(t, func(ctx context.Context, after string) (api.Page[query.RunInfo], error) {
			return f.client.Runs(ctx, after, limit)
		}, func(r query.RunInfo) string {
			return fmt.Sprint(r.Address, " ", r.File, " ", r.State, " e", r.Execution, " of ", r.Wanted)
		})
		expect(t, []string{"run.a all.hcl waiting e0 of 2", "run.b all.hcl waiting e0 of 1"}, got)
		got = every(t, func(ctx context.Context, after string) (api.Page[query.ExecutionInfo], error) {
			return f.client.Executions(ctx, "run.old", after, limit)
		}, func(e query.ExecutionInfo) string {
			return fmt.Sprint(e.Execution, e.Trigger, !e.FinishedAt.IsZero())
		})
		expect(t, []string{"5acceptedtrue", "4acceptedtrue", "3acceptedtrue", "2acceptedtrue", "1acceptedtrue"}, got)
	}
	if p, err := f.client.Executions(t.Context(), "run.a", "", 0); err != nil || len(p.Items) != 0 || p.Next != "" || p.AsOf.IsZero() {
		t.Errorf("a run that has not begun: %+v, %v", p, err)
	}
	for target, kind := range map[string]api.Kind{
		"/v1/runs/run.a": "", "/v1/runs/run.old": "", "/v1/runs/run.none": api.NotFound, "/v1/runs/run.none/executions": api.NotFound,
	} {
		if text, got := f.ask("GET", target, ""); got != kind {
			t.Errorf("%s: %s", target, text)
		}
	}
	if text, _ := f.ask("GET", "/v1/runs/run.old", ""); !strings.Contains(text, `"note":"no file declares it"`) || !strings.Contains(text, `"execution":5`) {
		t.Errorf("a run that no file declares: %s", text)
	}
}

func TestSpecsAndTasksComeInPages(t *testing.T) {
	f := newFixture(t)
	f.write("broken.hcl", "run \"c\" {\n tasks = [benchmark.egde]\n agent \"nop\" {}\n}\n")
	f.await(2)
	got := every(t, func(ctx context.Context, after string) (api.Page[query.SpecInfo], error) {
		return f.client.Specs(ctx, after, 1)
	}, func(s query.SpecInfo) string { return fmt.Sprint(s.File, " ", s.Status, " ", len(s.Diagnostics)) })
	expect(t, []string{"all.hcl ok 0", "broken.hcl rejected 1"}, got)
	for of, want := range map[string][]string{
		"": {`benchmark.edge["one"]`, `benchmark.edge["two"]`}, "benchmark.edge": {`benchmark.edge["one"]`, `benchmark.edge["two"]`}, "mining.x": nil,
	} {
		var tasks []string
		for after := ""; ; {
			var p api.Page[query.TaskInfo]
			text, kind := f.ask("GET", "/v1/tasks?"+url.Values{"of": {of}, "limit": {"1"}, "after": {after}}.Encode(), "")
			if err := json.Unmarshal([]byte(text), &p); err != nil || kind != "" {
				t.Fatalf("%s, %v", text, err)
			}
			for _, task := range p.Items {
				tasks = append(tasks, task.Address)
			}
			if after = p.Next; after == "" {
				break
			}
		}
		expect(t, want, tasks)
	}
	for _, of := range []string{"benchmark.none", "mining.none", "run.a", "edge"} {
		if text, kind := f.ask("GET", "/v1/tasks?of="+of, ""); kind != api.NotFound {
			t.Errorf("tasks of %s: %s", of, text)
		}
	}
}

// pulled stores pull requests that mining.x has seen: of each three one is open, one has too few stars,
// one became a task.
func pulled(n int) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		for i := range n {
			p := store.PullRow{Spec: "mining.x", Repo: "acme/shop", Number: i + 1, Verdict: "rejected", Stage: "filter", Reason: "stars"}
			if _, err := tx.FindPull(p.Spec, p.Repo, p.Number); err != nil {
				return err
			}
			switch i % 3 {
			case 0:
				continue
			case 1:
				p.Verdict, p.Stage, p.Reason, p.Class, p.Task = "accepted", "export", "", "easy", fmt.Sprint("task-", i)
			}
			if _, err := tx.DecidePull(p); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestPullRequestsComeInPages(t *testing.T) {
	f := newFixture(t, pulled(9))
	for filters, want := range map[string][]string{
		"":                               {"9 rejected", "8 accepted", "7 open", "6 rejected", "5 accepted", "4 open", "3 rejected", "2 accepted", "1 open"},
		"verdict=open":                   {"7 open", "4 open", "1 open"},
		"stage=filter":                   {"9 rejected", "6 rejected", "3 rejected"},
		"reason=stars&stage=filter":      {"9 rejected", "6 rejected", "3 rejected"},
		"verdict=accepted&stage=filter":  nil,
		"verdict=accepted&stage=export":  {"8 accepted", "5 accepted", "2 accepted"},
		"reason=none-such":               nil,
		"verdict=rejected&reason=enough": nil,
	} {
		for _, limit := range []int{1, 3, 0} {
			filter, err := url.ParseQuery(filters)
			if err != nil {
				t.Fatal(err)
			}
			got := every(t, func(ctx context.Context, after string) (api.Page[query.PullInfo], error) {
				return f.client.Pulls(ctx, "mining.x", filter, after, limit)
			}, func(p query.PullInfo) string { return fmt.Sprint(p.Number, " ", p.Verdict) })
			expect(t, want, got)
		}
	}
	if text, kind := f.ask("GET", "/v1/mining/mining.x", ""); kind != "" || !strings.Contains(text, `"seen":9`) || !strings.Contains(text, "there is no GitHub here") {
		t.Errorf("%s", text)
	}
	for _, target := range []string{"/v1/mining/mining.none", "/v1/mining/run.a", "/v1/mining/mining.none/pulls"} {
		if text, kind := f.ask("GET", target, ""); kind != api.NotFound {
			t.Errorf("%s: %s", target, text)
		}
	}
}

func TestRoundsAndTheirTestsComeInPages(t *testing.T) {
	f := newFixture(t, seeded(1, 4, 7))
	var rounds []string
	for _, limit := range []int{1, 3, 0} {
		rounds = every(t, func(ctx context.Context, after string) (api.Page[trialview.RoundInfo], error) {
			return f.client.Rounds(ctx, doneTrial, after, limit)
		}, func(r trialview.RoundInfo) string {
			if r.Report != nil && r.Report.Tests != nil {
				t.Errorf("%s comes with its tests", r.Round.Round)
			}
			return fmt.Sprint(r.Round.Round, " ", r.State, " ", r.ElapsedS, " ", r.Kind)
		})
		expect(t, []string{"agent-1 judged 1 agent", "agent-2 judged 2 agent", "agent-3 judged 3 agent", "agent-4 queued 4 agent"}, rounds)
	}
	for filters, want := range map[string][]string{
		"":                          {"1 test_Rotate[0]", "2 test_delete[1]", "3 test_Rotate[2]", "4 test_delete[3]", "5 test_Rotate[4]", "6 test_delete[5]", "7 test_Rotate[6]"},
		"status=failed":             {"1 test_Rotate[0]", "4 test_delete[3]", "7 test_Rotate[6]"},
		"name=rotate":               {"1 test_Rotate[0]", "3 test_Rotate[2]", "5 test_Rotate[4]", "7 test_Rotate[6]"},
		"name=DELETE&status=failed": {"4 test_delete[3]"},
		"status=none-such":          nil,
	} {
		for _, limit := range []int{1, 2, 0} {
			filter, err := url.ParseQuery(filters)
			if err != nil {
				t.Fatal(err)
			}
			got := every(t, func(ctx context.Context, after string) (api.Page[trialview.TestInfo], error) {
				return f.client.Tests(ctx, doneTrial, "agent-2", filter, after, limit)
			}, func(x trialview.TestInfo) string { return fmt.Sprint(x.N, " ", x.Name) })
			expect(t, want, got)
		}
	}
	at := "/v1/trials/" + doneTrial
	for target, kind := range map[string]api.Kind{
		at: "", at + "/rounds/agent-1": "", at + "/rounds/agent-4": "",
		at + "/rounds/agent-9": api.NotFound, at + "/rounds/auto-1": api.NotFound, at + "/rounds/agent": api.NotFound, at + "/rounds/agent--1": api.NotFound, at + "/rounds/agent-1x": api.NotFound,
		at + "/rounds/agent-4/tests": api.Conflict, at + "/rounds/agent-9/tests": api.NotFound,
		at + "/rounds/agent-1/output": api.Conflict, at + "/rounds/agent-9/output": api.NotFound, at + "/rounds/agent-1/output?offset=-1": api.Invalid,
		"/v1/trials/none": api.NotFound, "/v1/trials/none/rounds": api.NotFound, "/v1/trials/none/rounds/agent-1": api.NotFound,
		"/v1/trials/none/rounds/agent-1/tests": api.NotFound, "/v1/trials/none/rounds/agent-1/output": api.NotFound,
	} {
		if text, got := f.ask("GET", target, ""); got != kind {
			t.Errorf("%s is %q, want %q: %s", target, got, kind, text)
		}
	}
}

// The pages of an output are the output, with no character in two of them.
func TestAnOutputIsReadInPages(t *testing.T) {
	f := newFixture(t, seeded(1, 3, 1))
	for name, text := range map[string]string{
		"empty": "", "short": "one line\n", "as long as a page": strings.Repeat("x", 64<<10), "a byte more": strings.Repeat("x", 64<<10+1),
		"characters of several bytes": strings.Repeat("añ€𝄞", 40<<10), "shifted": "x" + strings.Repeat("€", 60<<10), "no UTF-8": strings.Repeat("\xf0\x9d", 50<<10),
	} {
		digest := f.blob(text)
		if err := f.store.Do(t.Context(), func(tx *store.Tx) error {
			row, err := tx.SubmissionOf(doneTrial, "agent", 1)
			if err != nil {
				return err
			}
			var sub round.Submission
			if err := json.Unmarshal(row.Data, &sub); err != nil {
				return err
			}
			sub.Report.Output = digest
			if row.Data, err = json.Marshal(sub); err != nil {
				return err
			}
			return tx.UpdateSubmission(row)
		}); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		pages := 0
		for offset := int64(0); ; pages++ {
			p, err := f.client.OutputAt(t.Context(), doneTrial, "agent-1", offset)
			if err != nil || p.Offset != offset || p.Size != int64(len(text)) {
				t.Fatalf("%s: %+v, %v", name, p, err)
			}
			got.WriteString(p.Text)
			if offset = p.Next; offset == 0 {
				break
			}
		}
		want := strings.ToValidUTF8(text, "\uFFFD")
		if name == "no UTF-8" { // a run of it is one mark a page
			want = strings.Repeat("\uFFFD", pages+1)
		}
		if got.String() != want || pages > len(text)/(64<<10)+1 {
			t.Errorf("%s: %d bytes came as %d in %d pages", name, len(text), got.Len(), pages+1)
		}
		if p, err := f.client.OutputAt(t.Context(), doneTrial, "agent-1", 1<<40); err != nil || p.Text != "" || p.Next != 0 {
			t.Errorf("%s: behind its end there is %+v, %v", name, p, err)
		}
	}
}

func (f *fixture) blob(text string) (digest string) {
	f.Helper()
	w, err := f.store.Blobs().Create()
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		digest, _, err = w.Commit()
	}
	if err != nil {
		f.Fatal(err)
	}
	return digest
}

// What is wrong with a page's limit or cursor is told, and nothing is read.
func TestAPageIsAskedForInOneWay(t *testing.T) {
	f := newFixture(t, seeded(3, 2, 1), pulled(3))
	first, err := f.client.Executions(t.Context(), "run.old", "", 1)
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	other, err := f.client.Pulls(t.Context(), "mining.x", nil, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for query, kind := range map[string]api.Kind{
		"limit=1": "", "limit=500": "", "limit=": "", "limit=1&after=" + first.Next: "", "after=" + first.Next + "&limit=3": "", "after=": "",
		"limit=0": api.Invalid, "limit=501": api.Invalid, "limit=-1": api.Invalid, "limit=ten": api.Invalid, "limit=1e2": api.Invalid, "limit=99999999999999999999": api.Invalid,
		"after=x": api.Invalid, "after=" + first.Next + "x": api.Invalid, "after=" + first.Next[1:]: api.Invalid, "after=3": api.Invalid, "after=%00": api.Invalid,
		"after=" + base64.RawURLEncoding.EncodeToString(nil) + "A": api.Invalid, "after=" + base64.RawURLEncoding.EncodeToString([]byte("123456")): api.Invalid,
		"after=" + first.Next[:8]: api.Invalid, "after=" + first.Next + "A": api.Invalid, // its list, without a place or with another one
		"after=" + other.Next: api.Invalid, "x=1&after=" + first.Next: api.Invalid,
	} {
		if text, got := f.ask("GET", "/v1/runs/run.old/executions?"+query, ""); got != kind {
			t.Errorf("%s is %q, want %q: %s", query, got, kind, text)
		}
	}
	if _, err := f.client.Executions(t.Context(), "run.a", first.Next, 1); !errors.Is(err, api.Invalid) {
		t.Errorf("the cursor of another run's list: %v", err)
	}
}

// A page costs what it has, whatever lies before and behind it.
func TestAPageReadsNoMoreThanItself(t *testing.T) {
	work := func(n int) map[string]store.Work {
		f := newFixture(t, seeded(n, n, n), pulled(n))
		all := map[string]store.Work{}
		for _, target := range []string{
			"/v1/runs", "/v1/runs/run.old", "/v1/runs/run.old/executions", "/v1/trials/" + doneTrial, "/v1/trials/" + doneTrial + "/rounds",
			"/v1/trials/" + doneTrial + "/rounds/agent-2", "/v1/trials/" + doneTrial + "/rounds/agent-2/tests", "/v1/specs", "/v1/tasks",
			"/v1/mining/mining.x", "/v1/mining/mining.x/pulls", "/v1/mining/mining.x/pulls?verdict=rejected", "/v1/mining/mining.x/pulls?reason=stars&stage=filter",
		} {
			least := store.Work{Queries: 1 << 40, Rows: 1 << 40}
			for range 3 { // the loop may ask something meanwhile
				before := f.store.Work()
				if text, kind := f.ask("GET", target+map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")]+"limit=5", ""); kind != "" {
					t.Errorf("%s: %s", target, text)
				}
				after := f.store.Work()
				least = store.Work{Queries: min(least.Queries, after.Queries-before.Queries), Rows: min(least.Rows, after.Rows-before.Rows)}
			}
			all[target] = least
		}
		return all
	}
	few, many := work(30), work(600)
	for target, want := range few {
		if got := many[target]; got != want || got.Rows > 20 || got.Queries > 20 {
			t.Errorf("%s costs %+v of few and %+v of many", target, want, got)
		}
	}
	if few["/v1/mining/mining.x/pulls"].Rows != 6 { // a page, and whether there is another one
		t.Error("nothing was counted")
	}
}
