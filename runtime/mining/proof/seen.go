package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/truncate"
)

// atOnce is how many judgings of a case are under way at most.
const atOnce = 2

// job is one judging.
type job struct {
	task task.Task
	fix  []byte
}

// judge does all jobs, and returns what was seen in their order.
func (p *prover) judge(ctx context.Context, jobs []job) ([]seen, error) {
	all := make([]seen, len(jobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, j := range jobs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			report, err := p.run(ctx, j.task, j.fix)
			refused, lost := errors.AsType[*patch.NotApplied](err)
			switch {
			case lost:
				all[i] = seen{lost: refused.Words}
			case err != nil:
				return fmt.Errorf("judge %s for its proof: %w", j.task.Name, err)
			case report.Status == round.StatusError:
				return fmt.Errorf("judge %s for its proof: %s", j.task.Name, clip(report.Problem, 1000))
			default:
				all[i] = newSeen(report)
			}
			return nil
		})
	}
	err := group.Wait()
	p.proof.Runs += len(jobs)
	return all, err
}

// Ways in which a test can come out.
type way int

const (
	absent way = iota // it was not seen
	failed
	skipped
	passed
)

// seen is one judging: its report, or why there is none.
type seen struct {
	report round.Report
	lost   string
	ways   map[string]way // of a name that was seen twice the worse
}

func newSeen(r round.Report) seen {
	s := seen{report: r, ways: map[string]way{}}
	for _, t := range r.Tests {
		w := failed
		switch t.Status {
		case parser.Passed:
			w = passed
		case parser.Skipped:
			w = skipped
		}
		if have, ok := s.ways[t.Name]; !ok || w < have {
			s.ways[t.Name] = w
		}
	}
	return s
}

func (s seen) way(name string) way { return s.ways[name] }

// ran reports whether any test came to an end.
func (s seen) ran() bool {
	for _, w := range s.ways {
		if w == passed || w == failed {
			return true
		}
	}
	return false
}

// passes reports whether an agent with that report would have solved the task.
func (s seen) passes() bool {
	r := s.report
	return s.lost == "" && r.Valid && !r.Tampered && r.PassRate == 1
}

// fault rejects a judging that tells nothing of the tests.
func (s seen) fault(side string) error {
	r := s.report
	switch {
	case s.lost != "":
		return reason.Reject(DoesNotApply, "%s: %s", side, s.lost)
	case r.Tampered || r.Status == round.StatusTampered:
		return reason.Reject(Tampered, "%s%s", side, behind(r.Problem))
	case r.NotRun:
		return reason.Reject(NotFound, "%s%s", side, behind(r.Problem))
	case r.Status == round.StatusTimeout:
		return reason.Reject(Timeout, "%s%s", side, behind(r.Problem))
	}
	return nil
}

// why says how the first of some tests failed, or what the judge says of all.
func (s seen) why(names []string) string {
	var words []string
	for _, t := range s.report.Tests {
		if t.Message != "" && t.Status != parser.Passed && t.Status != parser.Skipped && slices.Contains(names, t.Name) {
			words = append(words, t.Name+": "+clip(t.Message, 500))
			break
		}
	}
	if s.report.Problem != "" {
		words = append(words, clip(s.report.Problem, 500))
	}
	return strings.Join(words, "; ")
}

// table is how tests came out on both sides.
type table struct {
	failToPass, passToPass, flaky []string
	turning                       []string // flaky ones that failed before and passed after at least once
	failing                       []string // those that failed before each time
}

func tableOf(before, after []seen) (t table) {
	for _, name := range names(before, after) {
		b, a := ways(before, name), ways(after, name)
		switch {
		case len(b) > 1 || len(a) > 1:
			t.flaky = append(t.flaky, name)
			if b[failed] && a[passed] {
				t.turning = append(t.turning, name)
			}
		case b[failed] && a[passed]:
			t.failToPass = append(t.failToPass, name)
			t.failing = append(t.failing, name)
		case b[passed] && a[passed]:
			t.passToPass = append(t.passToPass, name)
		case b[failed]:
			t.failing = append(t.failing, name)
		}
	}
	return t
}

// names are those of all tests, sorted.
func names(sides ...[]seen) []string {
	all := map[string]bool{}
	for _, side := range sides {
		for _, s := range side {
			for name := range s.ways {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ways are those in which a test came out. One that was not seen has failed: whether it died
// or was never reached is often a matter of luck, and neither passes.
func ways(side []seen, name string) map[way]bool {
	all := map[way]bool{}
	for _, s := range side {
		all[max(s.way(name), failed)] = true
	}
	return all
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return clip(text, 1000)
}

// clip bounds a text.
func clip(text string, most int) string {
	return truncate.Marked(strings.TrimSpace(text), most, " …")
}
