package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/task"
)

// ActionKind is what an action does.
type ActionKind string

// Kinds of action. Each is one transaction of the store or one goroutine started.
const (
	Begin       ActionKind = "begin"     // an execution
	Skip        ActionKind = "skip"      // a firing, because the last execution still runs
	Recount     ActionKind = "recount"   // the schedule from now on, because its last firing is yet to come
	StartTrial  ActionKind = "start"     // a trial, or its next try, or go on with it
	CancelTrial ActionKind = "cancel"    // a trial
	Supersede   ActionKind = "supersede" // an ended trial: it is in no number any more
	Reinstate   ActionKind = "reinstate" // a superseded trial: it counts again
	Settle      ActionKind = "settle"    // an execution that goes on when there is more: summary
	Finish      ActionKind = "finish"    // an execution: summary and end
	Forget      ActionKind = "forget"    // the spec is gone and nothing of it is open
	Wait        ActionKind = "wait"      // nothing yet
	Blocked     ActionKind = "blocked"
)

// Action is one thing to do, with its cause.
type Action struct {
	Kind      ActionKind
	Execution int
	Trigger   string
	Only      []string
	At        time.Time // of a firing; recount: from when on they count
	Trial     string
	Cell      Cell
	Try       int
	By        []string // supersede: the trials that take its place
	Unwanted  bool     // cancel: nothing wants the cell any more; otherwise a user asked for it
	Cause     string
}

// String is the action as `assayd plan` and the tests show it.
func (a Action) String() string { return a.text(func(t task.Task) string { return t.Name }) }

// text is String, with tasks called by called.
func (a Action) text(called func(task.Task) string) string {
	var what string
	switch a.Kind {
	case Begin, Settle, Finish, Skip:
		what = fmt.Sprintf("%s e%d", a.Kind, a.Execution)
	case StartTrial:
		what = fmt.Sprintf("start %s try %d", a.Trial, a.Try)
		if a.Cell.whole != nil { // known only while a block declares it
			cell := a.Cell.Whole()
			what += fmt.Sprintf(": task %s, agent %s, attempt %d", called(cell.Task), cell.Agent.Title(), cell.Attempt)
		}
	case CancelTrial, Reinstate:
		what = string(a.Kind) + " " + a.Trial
	case Supersede:
		what = "supersede " + a.Trial
		if len(a.By) > 0 {
			what += " by " + strings.Join(a.By, ", ")
		}
	default:
		what = string(a.Kind)
	}
	return what + " (" + a.Cause + ")"
}

// Plan is what is to be done about one spec now, and when to look again by oneself.
type Plan struct {
	Address string
	Actions []Action
	Wake    time.Time // zero = only when something changes
}

// CarryOut executes the plan in order. Where there is no room for a container none is started after
// it, and the trials that run are taken up all the same. Anything else after which no more can be done
// ends it.
func (p Plan) CarryOut(execute func(Action) (more bool, err error)) error {
	var errs []error
	full := false
	for _, a := range p.Actions {
		if full && a.Cause != goesOn {
			continue
		}
		more, err := execute(a)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", a, err))
		case a.Kind == StartTrial:
			full = full || !more
		case !more:
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}

// String is the plan as text, a line an action. Where benchmarks have tasks of one name, it says
// of which one each is.
func (p Plan) String() string {
	benchmarks, several := map[string]string{}, map[string]bool{}
	for _, a := range p.Actions {
		if a.Kind == StartTrial && a.Cell.whole != nil {
			t := a.Cell.Whole().Task
			if other, seen := benchmarks[t.Name]; seen && other != t.Benchmark {
				several[t.Name] = true
			}
			benchmarks[t.Name] = t.Benchmark
		}
	}
	called := func(t task.Task) string {
		if several[t.Name] {
			return t.Benchmark + "/" + t.Name
		}
		return t.Name
	}
	var b strings.Builder
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "%s: %s\n", p.Address, a.text(called))
	}
	if !p.Wake.IsZero() {
		fmt.Fprintf(&b, "%s: look again at %s\n", p.Address, Stamp(p.Wake))
	}
	return b.String()
}

// Room says in a line where the machine keeps fewer trials of a planned run at work than its
// `parallel` allows, and by which setting; "" = nowhere.
func (p Plan) Room(parallel int, l admission.Limits) string {
	if bound := l.Bound(p.needs(), parallel); bound != "" {
		return p.Address + ": " + bound + "\n"
	}
	return ""
}

// needs are those of the trials that the plan starts.
func (p Plan) needs() (needs []admission.Need) {
	for _, a := range p.Actions {
		if a.Kind == StartTrial && a.Cell.whole != nil {
			work := a.Cell.Whole().Task.Work
			needs = append(needs, admission.Need{CPUs: work.CPUs, Memory: work.Memory})
		}
	}
	return needs
}

func (p *Plan) add(a Action) { p.Actions = append(p.Actions, a) }

func (p *Plan) wakeAt(t time.Time) {
	if p.Wake.IsZero() || t.Before(p.Wake) {
		p.Wake = t
	}
}

// Has reports whether the plan has an action of a kind.
func (p *Plan) Has(k ActionKind) bool {
	for _, a := range p.Actions {
		if a.Kind == k {
			return true
		}
	}
	return false
}
