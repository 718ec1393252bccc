package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// editing is what befalls run.r: its agents come and go in any order, its judge and its
// solution are edited, daemons die, and it is run again.
type editing struct {
	*fixture
	t      *testing.T
	d      *daemon
	rand   *rand.Rand
	agents []string
}

// everybody are the agents of the content that is in force in the end: two that pool, and two
// controls.
var everybody = []string{"m", "k", "n", "o"}

// text is run.r with agents in that order, with a judge command and a solution.
func (h *editing) text(agents []string, judge, script string) string {
	text := strings.NewReplacer(`command = "true"`, fmt.Sprintf("command = %q", judge), `script = "true"`, fmt.Sprintf("script = %q", script)).Replace(runOf(false))
	for _, a := range agents {
		kind := map[string]string{"n": "nop", "o": "oracle"}[a]
		if kind == "" {
			kind = "mine"
		}
		text = strings.Replace(text, "auto_eval", fmt.Sprintf("agent %q { label = %q }\n auto_eval", kind, a), 1)
	}
	return text + mine
}

func (h *editing) shuffled() []string {
	all := slices.Clone(everybody)
	h.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// edit puts another content into force.
func (h *editing) edit(agents []string, judge, script string) {
	h.agents = agents
	text := h.text(agents, judge, script)
	h.write("a.hcl", text)
	sum, path := sha256.Sum256([]byte(text)), filepath.Join(h.specs, "a.hcl")
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) { // a young file is held back
		h.d.look(h.t)
		hash := ""
		check(h.t, h.d.do(h.t.Context(), func() { hash = h.d.specs.Set().Accepted()[path].Hash }))
		if hash == hex.EncodeToString(sum[:]) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("the edit was not accepted; in force is %q", hash)
		}
	}
}

// settle waits until every agent of the content in force has its verdict, and nothing runs.
func (h *editing) settle() query.RunStatus {
	return h.d.until(h.t, "settled with "+strings.Join(h.agents, " "), func(r query.RunStatus) bool {
		var done []string
		for _, x := range r.Trials {
			if x.Phase == trial.Done && !x.Superseded && x.Status.Counts() {
				done = append(done, x.Agent)
			}
		}
		slices.Sort(done)
		return r.State == "finished" && slices.Equal(done, slices.Sorted(slices.Values(h.agents)))
	})
}

// happen lets one thing happen.
func (h *editing) happen() {
	switch h.rand.IntN(6) {
	case 0, 1:
		h.edit(h.shuffled()[:1+h.rand.IntN(4)], []string{"true", "exit 0"}[h.rand.IntN(2)], "true")
	case 2:
		h.d.stop()
		h.d = h.start()
	case 3:
		h.settle()
	case 4:
		h.settle()
		_, err := h.d.Rerun(h.t.Context(), "run.r")
		check(h.t, err)
	case 5:
		h.edit(h.agents, "true", []string{"true", "other"}[h.rand.IntN(2)])
	}
}

// shown are the numbers of a run without what depends on the clock.
func shown(t *testing.T, d *daemon) (lines []string) {
	t.Helper()
	report, err := d.Summaries.Report(t.Context(), "run.r")
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summary
	lines = append(lines, fmt.Sprintf("all: %d trials, %d resolved, rate %v of %d, pass rate %.3f of %d", s.Total, s.Resolved,
		s.ResolvedRate.Value, s.ResolvedRate.N, s.PassRate.Value, s.PassRate.N))
	for _, a := range report.Agents {
		beside := s.Agents
		if a.Control {
			beside = s.Controls
		}
		rate := a.Tasks[0].PassRate
		if rate == nil {
			lines = append(lines, a.Agent+": none")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %v, pass rate %.3f, in the summary %.3f", a.Agent, a.Control, *rate, beside[a.Agent].PassRate.Value))
	}
	return lines
}

// recorded are the same numbers from the records alone, as the jq line counts them.
func (h *fixture) recorded() (lines []string) {
	h.t.Helper()
	counts := h.counted()
	rates := map[string]string{}
	err := h.store.View(h.t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream("run.r")
		if err != nil {
			return err
		}
		all, err := tx.LinesFrom(stream.ID, 1, 10_000)
		for _, l := range all {
			var x struct {
				Type string
				trial.Finished
			}
			err = errors.Join(err, json.Unmarshal(l.Data, &x))
			if x.Type == "trial.finished" && x.Final && slices.Contains(counts, x.Trial) {
				if x.Best == nil { // an edit cancelled it, and was taken back
					x.Best = &trial.Best{}
				}
				rates[x.Trial] = fmt.Sprintf("%s: %v, pass rate %.3f", x.Agent, x.Control, x.Best.PassRate)
			}
		}
		return err
	})
	check(h.t, err)
	for _, line := range rates {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// TestNumbersAreThoseOfTheContent: whatever happened before, one content has the same numbers,
// and everything that tells of numbers tells the same ones.
func TestNumbersAreThoseOfTheContent(t *testing.T) {
	want := []string{
		"all: 4 trials, 1 resolved, rate 0 of 2, pass rate 0.792 of 1",
		"k: false, pass rate 0.833, in the summary 0.833",
		"m: false, pass rate 0.750, in the summary 0.750",
		"n: true, pass rate 0.000, in the summary 0.000",
		"o: true, pass rate 1.000, in the summary 1.000",
	}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &editing{fixture: newFixture(t), t: t, rand: rand.New(rand.NewPCG(seed, 17)), agents: everybody} //nolint:gosec // no secret
			h.script = "tests:ABCDEFGHIJKL"
			h.answers = map[string]string{"m": "tests:ABCDEFGHIj", "k": "tests:ABCDEFGHIJ", "n": "tests:a", "o": h.script}
			close(h.let)
			h.write("a.hcl", h.text(h.shuffled(), "true", "true"))
			h.d = h.start()
			h.d.look(t)
			for range 3 + h.rand.IntN(4) {
				h.happen()
			}
			h.edit(h.shuffled(), "true", "true")
			h.numbers(h.d, h.settle())
			if diff := cmp.Diff(want, shown(t, h.d)); diff != "" {
				t.Errorf("-want +shown\n%s", diff)
			}
			var records []string
			for _, line := range want[1:] {
				records = append(records, strings.Split(line, ", in the")[0])
			}
			if diff := cmp.Diff(records, h.recorded()); diff != "" {
				t.Errorf("-want +records\n%s", diff)
			}
		})
	}
}
