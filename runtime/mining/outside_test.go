package mining

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

var titled = regexp.MustCompile(`Mend f\d+ of [\w./-]+\w`)

// needed is what an interface has to name.
var needed = regexp.MustCompile(`\["([^"]+)"\]`)

// stageOf says at which stage a tool is offered.
func stageOf(tools []string) string {
	for tool, stage := range map[string]string{
		"rate_difficulty": StageTriage, "write_statement": StageStatement, "describe_interface": "interface", "submit_tests": StageEnvironment,
		"classify": StageClassify, "rate_quality": StageQuality,
	} {
		if slices.Contains(tools, tool) {
			return stage
		}
	}
	return ""
}

// script is the model.
func (w *fixture) script(r modeltest.Request) modeltest.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, said := 0, ""
	for _, turn := range r.Turns {
		if turn.Role == "assistant" {
			n++
		}
		said += turn.Text + "\n"
	}
	key := stageOf(r.Tools)
	if strings.Contains(said, "This environment runs its tests") {
		key += "/more"
	}
	q := question{titled.FindString(said), fmt.Sprintf("%s/%d", key, n)}
	w.asked[q]++
	if w.odd != nil {
		if answer, ok := w.odd(q); ok {
			return answer
		}
	}
	class := stdcmp.Or(w.class[q.title], "easy")
	score := map[string]float64{"easy": 0.2, "medium": 0.5, "hard": 0.8}[class]
	_, rest, _ := strings.Cut(q.title, " f")
	number, _, _ := strings.Cut(rest, " ")
	called, args := "", map[string]any{}
	switch stageOf(r.Tools) {
	case StageTriage:
		called, args = "rate_difficulty", map[string]any{"reasoning": "So it seems.", "difficulty": class}
	case StageStatement:
		called, args = "write_statement", map[string]any{"statement": "A function of the package gives zero where it should give the number that its name ends with."}
	case StageEnvironment:
		n, _ := strconv.Atoi(number)
		called, args = "submit_tests", map[string]any{"install": []string{"pip install ."}, "test_command": "python -m pytest " + tests(n)}
	case "interface":
		called, args = "describe_interface", map[string]any{"section": "It has `" + strings.Join(needed.FindStringSubmatch(said)[1:], "") + "`."}
	case StageClassify:
		called, args = "classify", map[string]any{"reasoning": "So it is.", "class": class, "score": score}
	case StageQuality:
		called, args = "rate_quality", map[string]any{"reasoning": "It is good.", "score": 0.9}
	}
	return calling(called, args)
}

func calling(name string, args map[string]any) modeltest.Answer {
	return modeltest.Answer{Calls: []modeltest.Call{{Name: name, Arguments: args}}, Usage: modeltest.Usage{Input: 100, Output: 10}}
}

// questions counts those of a key, or all.
func (w *fixture) questions(key string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q, times := range w.asked {
		if key == "" || q.key == key {
			n += times
		}
	}
	return n
}

// repeated are the questions that were asked more than once.
func (w *fixture) repeated() (all []question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q, times := range w.asked {
		if times > 1 {
			all = append(all, q)
		}
	}
	return all
}

var hidden = regexp.MustCompile(`\+def test_f(\d+)\(`)

// judged has a patch judged as the tests of the repositories do: test_fn passes where fn
// returns n.
func (w *fixture) judged(_ context.Context, t task.Task, fix []byte) (round.Report, error) {
	if w.judge != nil {
		return w.judge(t, fix)
	}
	return outcome(t, fix)
}

func outcome(t task.Task, fix []byte) (round.Report, error) {
	m := hidden.FindSubmatch(t.Judge.Patch)
	if m == nil {
		return round.Report{}, &patch.NotApplied{Words: "there are no such tests"}
	}
	status := parser.Failed
	if bytes.Contains(fix, []byte("+    return "+string(m[1])+"\n")) {
		status = parser.Passed
	}
	of := fmt.Sprintf("tests/test_f%s.py::", m[1])
	return report(parser.Test{Name: of + "test_base", Status: parser.Passed}, parser.Test{Name: of + "test_f" + string(m[1]), Status: status}), nil
}

// report is that of some tests.
func report(all ...parser.Test) round.Report {
	r := round.Report{Status: round.StatusOK, Valid: true, JudgeMS: 10, Tests: all, TotalTests: len(all)}
	for _, t := range all {
		if t.Status == parser.Passed {
			r.Passed++
		}
	}
	r.PassRate = float64(r.Passed) / float64(len(all))
	return r
}

// room is one in which nothing is, and everything can be done.
type room struct{}

// Exec implements workbench.Room.
func (room) Exec(context.Context, []string, time.Duration) (int, []byte, bool, error) {
	return 0, nil, false, nil
}

// Read implements workbench.Room: each file is a test of its own name.
func (room) Read(_ context.Context, name string) ([]byte, error) {
	return fmt.Appendf(nil, "from calc import %[1]s\n\ndef test_f1():\n    assert %[1]s() == 1\n", strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "test_"), ".py")), nil
}

// Write implements workbench.Room.
func (room) Write(context.Context, string, []byte) error { return nil }

// ledger keeps books in memory.
type ledger struct {
	mu      sync.Mutex
	charges []gateway.Charge
	totals  int // how often it was asked about a whole spec
}

// Begin implements gateway.Ledger.
func (l *ledger) Begin(_ context.Context, c gateway.Charge) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.charges = append(l.charges, c)
	return int64(len(l.charges) - 1), nil
}

// End implements gateway.Ledger.
func (l *ledger) End(_ context.Context, id int64, c gateway.Charge) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.charges[id] = c
	return nil
}

// Spent implements gateway.Ledger.
func (l *ledger) Spent(_ context.Context, a gateway.Account) (sum gateway.Usage, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Trial == "" {
		l.totals++
	}
	for _, c := range l.charges {
		if c.Spec == a.Spec && (a.Trial == "" || c.Trial == a.Trial && c.Try == a.Try) {
			sum.Add(c.Usage)
		}
	}
	return sum, nil
}

// asked is how often somebody wanted to know what a whole spec has spent.
func (l *ledger) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals
}
