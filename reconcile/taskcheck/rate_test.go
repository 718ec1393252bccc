package taskcheck

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/vet"
)

func TestWhoRatesHasAProviderThatSpeaksOpenAIAndAKey(t *testing.T) {
	o := config.Options{Secret: func(name string) (string, bool) { return "sk", name == "there" }}
	settings, ds := config.LoadSettings("assayd.hcl", []byte(`
provider "plain" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1"
  api_key  = "sk"
}
provider "secret" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1"
  api_key  = secret("there")
}
provider "lost" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1"
  api_key  = secret("gone")
}
provider "anthropic" { api_key = "sk" }
`), config.Options{Env: func(string) (string, bool) { return "", false }, Secret: func(string) (string, bool) { return "sk", true }})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	o.Settings = settings
	for _, tc := range []struct {
		rater Rater
		says  string // "" = it can be asked
	}{
		{Rater{"plain", "m"}, ""},
		{Rater{"secret", "m"}, ""},
		{Rater{"plain", ""}, "name a model"},
		{Rater{"lost", "m"}, `provider "lost" has no API key: there is no secret "gone" in secrets_dir`},
		{Rater{"openrouter", "m"}, `provider "openrouter" has no API key: set the variable OPENROUTER_API_KEY`},
		{Rater{"openruter", "m"}, `no provider "openruter"; did you mean openrouter?`},
		{Rater{"anthropic", "m"}, "speaks the protocol of anthropic"},
	} {
		err := tc.rater.Check(o)
		if _, ok := errors.AsType[*request.Mistake](err); tc.says == "" && err != nil || tc.says != "" && (!ok || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%+v: %v does not say %q", tc.rater, err, tc.says)
		}
	}
}

// treeOf is a blob with some files.
func treeOf(t *testing.T, s *store.Store, files map[string]string) task.Tree {
	t.Helper()
	w, err := s.Blobs().Create()
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(w)
	for name, text := range files {
		err = errors.Join(err, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, werr := io.WriteString(tw, text)
		err = errors.Join(err, werr)
	}
	err = errors.Join(err, tw.Close())
	digest, _, cerr := w.Commit()
	if err := errors.Join(err, cerr, w.Close()); err != nil {
		t.Fatal(err)
	}
	return task.Tree{Digest: digest}
}

const rateFix = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-wrong\n+right\n"

func TestAModelRatesATaskOrTheRatingSaysWhyNot(t *testing.T) {
	books := storetest.Open(t)
	private := &task.Private{Context: treeOf(t, books, map[string]string{"private.txt": "nobody's business\n"})}
	whole := task.Task{
		Name: "one", Title: "Make it right", Instruction: "Set x to what is right.", Workdir: "/workspace", FailToPass: []string{"test_right"},
		Solution: &task.Solution{Patch: []byte(rateFix)}, Private: private,
		Judge: task.Judge{
			Part:    task.Part{Context: treeOf(t, books, map[string]string{"tests/test_x.py": "def test_right():\n    pass", "tests/data.bin": "\x00"}), Files: map[string]string{"run.cfg": "[run]\n"}},
			Patch:   []byte("diff --git a/t b/t\n--- a/t\n+++ b/t\n@@ -1 +1 @@\n-old test\n+new test\n"),
			Command: task.Command{Argv: []string{"pytest", "tests"}},
		},
	}
	unsolved, empty, scripted := whole, whole, whole
	unsolved.Solution, empty.Solution, scripted.Solution = nil, &task.Solution{Patch: []byte("\n")}, &task.Solution{Script: "exit 1"}
	quality := call("rate_quality", map[string]any{"score": 0.75, "reasoning": "clear"})
	class := call("classify", map[string]any{"class": "easy", "score": 0.2, "reasoning": "one line"})
	wild := call("classify", map[string]any{"class": "easy", "score": 0.9, "reasoning": "?"})
	for _, tc := range []struct {
		name string
		task task.Task
		said []modeltest.Answer
		want *mining.Rated
		err  string
	}{
		{"rated", whole, []modeltest.Answer{quality, class}, &mining.Rated{
			QualityScore: 0.75, QualityReasoning: "clear", Classification: "easy", DifficultyScore: 0.2, Reasoning: "one line",
		}, ""},
		{"an answer that does not fit, and one that does", whole, []modeltest.Answer{quality, wild, class}, &mining.Rated{
			QualityScore: 0.75, QualityReasoning: "clear", Classification: "easy", DifficultyScore: 0.2, Reasoning: "one line",
		}, ""},
		{"half a rating", whole, []modeltest.Answer{quality, wild, wild}, nil, "not within the band of easy"},
		{"refused", whole, []modeltest.Answer{{Status: http.StatusBadRequest, Message: "no such model"}}, nil, "no such model"},
		{"unsolved", unsolved, nil, nil, "there is no solution"},
		{"a solution of nothing", empty, nil, nil, "the solution changes nothing"},
		{"a script that failed", scripted, nil, nil, "the solution could not be made"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := modeltest.New(t, func(r modeltest.Request) modeltest.Answer { return tc.said[min(r.Number, len(tc.said))-1] })
			g, err := gateway.New(gateway.Options{
				Providers: []gateway.Provider{{
					Name: "p", Protocol: wire.OpenAI, BaseURL: server.URL + "/v1", Prices: map[string]gateway.Price{"m": {Input: 10, Output: 100}},
					Key: func() (string, error) { return "sk", nil },
				}},
				Ledger: ledger.NewUsageLedger(books), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(g.Close)
			r := New(Options{Host: &trial.Host{Gateway: g, OpenBlob: books.Blobs().Open}})
			address := plan.TaskAddress("b", tc.name)
			k := &checking{r: r, task: tc.task, address: address, out: &Checked{}}
			if err := k.rate(t.Context(), Rater{"p", "m"}); err != nil {
				t.Fatal(err)
			}
			got := k.out.Rating
			if diff := cmp.Diff(tc.want, got.Rated); diff != "" || (got.Error == "") != (tc.err == "") || !strings.Contains(got.Error, tc.err) {
				t.Errorf("%q %s", got.Error, diff)
			}
			if told := server.Usage(); got.Usage.InputTokens != int64(told.Prompt()) || got.Usage.OutputTokens != int64(told.Output) || got.CostUSD != got.Usage.CostUSD {
				t.Errorf("counted %+v, told %+v", got.Usage, told)
			}
			booked, err := ledger.NewUsageLedger(books).Spent(t.Context(), gateway.Account{Spec: address})
			if err != nil || booked != got.Usage {
				t.Errorf("the books have %+v (%v), the rating %+v", booked, err, got.Usage)
			}
			seen := server.Exchanges()
			if len(seen) != len(tc.said) {
				t.Errorf("asked %d times, want %d", len(seen), len(tc.said))
			}
			for _, x := range seen {
				text := x.Request.Turns[1].Text
				for _, want := range []string{"Make it right", "Set x to what is right.", "+right", "+new test", "+def test_right():", "+[run]", "pytest tests", "test_right"} {
					if !strings.Contains(text, want) {
						t.Errorf("%q is not shown:\n%s", want, text)
					}
				}
				if strings.Contains(text, "nobody's business") || strings.Contains(text, "data.bin") {
					t.Errorf("it is shown too much:\n%s", text)
				}
			}
		})
	}
}

func call(name string, arguments map[string]any) modeltest.Answer {
	return modeltest.Answer{Calls: []modeltest.Call{{Name: name, Arguments: arguments}}, Usage: modeltest.Usage{Input: 100, Output: 10}}
}

// Files of a tree are a diff to a model, as those of a patch are.
func TestHiddenFilesAreShownAsAdded(t *testing.T) {
	got := written([]vet.Text{{Name: "b", Content: []byte("one\ntwo")}, {Name: "/a", Content: []byte("x\n")}, {Name: "c", Content: []byte{0}}, {Name: "d"}})
	head := "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,%[2]d @@\n"
	want := fmt.Sprintf(head, "a", 1) + "+x\n" + fmt.Sprintf(head, "b", 2) + "+one\n+two\n" + fmt.Sprintf(head, "d", 0)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if added := vet.Added(got); !slices.EqualFunc(added, []string{"a", "b"}, func(a vet.Text, name string) bool { return a.Name == name }) || !bytes.HasPrefix(added[1].Content, []byte("one\ntwo")) {
		t.Errorf("it reads as %v", added)
	}
}
