//go:build linux

package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/vet"
)

// rates is a model that finds every task good and easy, but for those with a word in them.
func rates(but string) modeltest.Script {
	return func(r modeltest.Request) modeltest.Answer {
		answer := map[string]any{"score": 0.75, "reasoning": "it is clear"}
		if strings.Contains(r.Turns[len(r.Turns)-1].Text, but) {
			return modeltest.Answer{Status: http.StatusBadRequest, Message: "of that nobody speaks"}
		}
		if slices.Contains(r.Tools, "classify") {
			answer = map[string]any{"class": "easy", "score": 0.25, "reasoning": "it is short"}
		}
		return modeltest.Answer{Calls: []modeltest.Call{{Name: r.Tools[0], Arguments: answer}}, Usage: perAnswer}
	}
}

// A task is rated by a model when that is asked for, from what its solution changes, or the
// check says why it is not.
func TestTasksAreRatedByAModel(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	server := w.knows(rates("unspeakable"))
	plain := sum{name: "scripted", instruction: "Write add.", before: wrongSum, solution: rightSum, test: sumTests}
	refused := plain
	refused.name, refused.instruction = "refused", "Write the unspeakable add."
	if err := os.MkdirAll(filepath.Join(w.specs, "laid"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("laid/answer.py", rightSum)
	laid := plain
	laid.name = "laid"
	overlaid := laid.hcl()
	at := strings.Index(overlaid, "    solution {")
	overlaid = overlaid[:at] + "    solution {\n      context = \"laid\"\n    }\n  }\n"
	w.write("t.hcl", fmt.Sprintf("benchmark %q {\n", w.bench)+plain.hcl()+refused.hcl()+overlaid+"}\n")
	w.serve()
	all := w.checked(1, "--repeat", "1", "--quality", "--provider", "openai", "--model", "scripted", "benchmark."+w.bench)

	var paid gateway.Usage
	for _, name := range []string{"scripted", "laid"} {
		c := all[name]
		if r := c.Rating; c.Verdict != vet.Sound || r == nil || r.Rated == nil || r.QualityScore != 0.75 || r.Classification != "easy" || r.DifficultyScore != 0.25 ||
			r.Reasoning != "it is short" || r.QualityReasoning != "it is clear" || r.CostUSD == 0 || r.Error != "" {
			t.Fatalf("%s is %s: %v, rated %+v", name, c.Verdict, c.Findings, r)
		}
		paid.Add(c.Rating.Usage)
	}
	if c := all["refused"]; c.Verdict != vet.Sound || c.Rating == nil || c.Rating.Rated != nil || !strings.Contains(c.Rating.Error, "nobody speaks") {
		t.Errorf("refused: %s, rated %+v", c.Verdict, c.Rating)
	}
	if told := server.Usage(); paid.InputTokens != int64(told.Prompt()) || paid.OutputTokens != int64(told.Output) {
		t.Errorf("counted %+v, told %+v", paid, told)
	}
	for _, x := range server.Exchanges() {
		if text := x.Request.Turns[1].Text; !strings.Contains(text, "\n-    return 0\n") || !strings.Contains(text, "\n+    total += b\n") || !strings.Contains(text, "test_small_numbers_are_added") {
			t.Errorf("asked about %s", text)
		}
	}
	file := "t.benchmark." + w.bench + ".jsonl"
	w.recorded(file, "the last check", func(r record) bool { return r.Seq == len(all) })
	text, err := os.ReadFile(filepath.Join(w.specs, file))
	if err != nil || !strings.Contains(string(text), `"quality_score":0.75`) || !strings.Contains(string(text), `"difficulty_score":0.25`) || !strings.Contains(string(text), "nobody speaks") {
		t.Errorf("%v\n%s", err, text)
	}
	w.noContainerIsLeft()
}

// What was mined is checked, rated, judged, built and exported by its address, as what stands
// in a benchmark.
func TestAMinedTaskHasAnAddress(t *testing.T) {
	t.Parallel()
	q := newFakeForge(t, good("letters"))
	q.write("m.hcl", q.spec("validation { repeats = 1 }"))
	q.serve()
	q.mined(4 * time.Minute)
	all := q.checked(0, "--repeat", "1", "--quality", "--provider", "openai", "--model", "scripted", q.address())
	if r := all["acme-letters-7"].Rating; len(all) != 1 || r == nil || r.Rated == nil || r.QualityScore != 0.9 || r.Classification != "medium" {
		t.Fatalf("%+v, rated %+v", all, r)
	}
	q.recorded("m.mining."+q.bench+".jsonl", "a check", func(r record) bool { return r.Type == "task.validated" && r.Spec == q.address() })

	out, archive := filepath.Join(q.TempDir(), "out"), filepath.Join(q.TempDir(), "nothing.tar")
	if err := os.WriteFile(archive, make([]byte, 1024), 0o600); err != nil { // a tar without entries
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"build", q.address() + `["acme-letters-7"]`},
		slices.Concat([]string{"export", "harbor", q.address(), out}, q.flags), // which say where the repository is
		{"eval", "--task", q.address() + ".acme-letters-7", "--archive", archive},
	} {
		if stdout, stderr, code := q.assayd(args...); code != 0 {
			t.Errorf("assayd %q exits %d: %s%s", args, code, stdout, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "acme-letters-7", "task.toml")); err != nil {
		t.Error(err)
	}
}
