package notifier

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
)

// Notice is one thing to tell.
type Notice struct {
	ID   string // of the record, "stream:seq": the same whenever it is made again
	Kind string
	Spec string // "" = it is about the machine
	Time time.Time
	Text string         // one line of names and numbers
	Data map[string]any // the same for programs

	n    int64  // number of the change that it tells of
	then string // what was known of runs after that change
}

// Of how many tries of a run the machine may fail how many.
const (
	lastTries = 20
	tooMany   = 4 // 20 %
	fewAgain  = 2 // 10 %
	maxRuns   = 200
)

// tries are the last tries of a run.
type tries struct {
	Lost    string `json:"lost"`              // a letter for each, the latest last: x = the machine failed it
	Failing bool   `json:"failing,omitempty"` // that was told
	Seq     int64  `json:"seq"`               // of the last change
}

// known is what a notifier has to know of former records.
type known map[string]*tries // by run

// record is what is read of records, whatever their type.
type record struct {
	Seq       int       `json:"seq"`
	Time      time.Time `json:"time"`
	Type      string    `json:"type"`
	Spec      string    `json:"spec"`
	Execution string    `json:"execution"`

	Trial  string   `json:"trial"`
	Task   string   `json:"task"`
	Agent  string   `json:"agent"`
	Final  bool     `json:"final"`
	Status string   `json:"status"`
	Flags  []string `json:"flags"`

	Total        int `json:"total"`
	Resolved     int `json:"resolved"`
	InfraError   int `json:"infra_error"`
	ResolvedRate *struct {
		Value float64 `json:"value"`
	} `json:"resolved_rate"`
	Usage struct {
		CostUSD float64 `json:"cost_usd"`
	} `json:"usage"`

	Seen     int     `json:"seen"`
	Accepted int     `json:"accepted"`
	CostUSD  float64 `json:"cost_usd"`

	Action string `json:"action"`
	Target string `json:"target"`
	By     string `json:"by"`
	After  *struct {
		Most  int       `json:"most"`
		Until time.Time `json:"until"`
	} `json:"after"`

	Diagnostics []struct {
		Severity string `json:"severity"`
		File     string `json:"file"`
		Line     int    `json:"line"`
	} `json:"diagnostics"`
}

// read reads a line. What has another type than expected, as a list that is in a file of its own, is left out.
func read(line []byte) (record, bool) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		if _, moved := errors.AsType[*json.UnmarshalTypeError](err); !moved {
			return r, false
		}
	}
	return r, true
}

// notices are those that a line makes, by what is known of the lines before it.
func (k known) notices(line store.NumberedLine) []Notice {
	r, ok := read(line.Data)
	if !ok {
		return nil
	}
	var made []Notice
	add := func(kind, text string, data map[string]any) {
		id := fmt.Sprintf("%s:%d", line.Stream, r.Seq)
		if len(made) > 0 {
			id += ":" + kind
		}
		made = append(made, Notice{ID: id, Kind: kind, Spec: r.Spec, Time: r.Time, Text: text, Data: data, n: line.N})
	}
	switch r.Type {
	case "run.finished":
		delete(k, r.Spec)
		text, data := r.finished()
		add(config.OnRunFinished, text, data)
	case "mining.finished":
		add(config.OnMiningFinished, fmt.Sprintf("%s is finished: %d tasks of %d pull requests, $%.2f", r.Spec, r.Accepted, r.Seen, r.CostUSD),
			map[string]any{"accepted": r.Accepted, "seen": r.Seen, "cost_usd": r.CostUSD})
	case "spec.rejected":
		text, data := r.rejected()
		add(config.OnSpecsRejected, text, data)
	case "control":
		if r.Action == "budget" && r.After != nil { // of the settings, for a day or a month
			add(config.OnBudget, fmt.Sprintf("a budget of the settings is used up: %s is held until %s", r.Target, r.After.Until.UTC().Format(time.RFC3339)),
				map[string]any{"target": r.Target, "until": r.After.Until})
		}
		if text := r.held(); text != "" {
			add(config.OnHeld, text, map[string]any{"action": r.Action, "target": r.Target, "by": r.By})
		}
	case "trial.finished", "trial.flagged":
		if flags := doubtful(r.Flags); len(flags) > 0 && (r.Final || r.Type == "trial.flagged") {
			add(config.OnFlagged, fmt.Sprintf("%s: the trial %s is flagged: %s", r.Spec, r.Trial, strings.Join(flags, ", ")),
				map[string]any{"trial": r.Trial, "flags": flags})
		}
		if r.Type == "trial.finished" {
			if text, data := k.tried(r, line.N); text != "" {
				add(config.OnRunFailing, text, data)
			}
		}
	}
	return made
}

func (r record) finished() (string, map[string]any) {
	text := fmt.Sprintf("%s %s is finished: %d of %d trials are resolved", r.Spec, r.Execution, r.Resolved, r.Total)
	data := map[string]any{"execution": r.Execution, "total": r.Total, "resolved": r.Resolved, "infra_error": r.InfraError, "cost_usd": r.Usage.CostUSD}
	if r.ResolvedRate != nil {
		text += fmt.Sprintf(" (%.1f %%)", 100*r.ResolvedRate.Value)
		data["resolved_rate"] = r.ResolvedRate.Value
	}
	if r.InfraError > 0 {
		text += fmt.Sprintf(", the machine lost %d", r.InfraError)
	}
	return text + fmt.Sprintf(", $%.2f", r.Usage.CostUSD), data
}

func (r record) rejected() (string, map[string]any) {
	wrong, at := 0, ""
	for _, d := range r.Diagnostics {
		if d.Severity != string(config.Error) {
			continue
		}
		if wrong++; at == "" && d.File != "" {
			at = fmt.Sprintf("%s:%d", d.File, d.Line)
		}
	}
	text := fmt.Sprintf("a spec file is rejected, with %d errors", wrong)
	if at != "" {
		text += ", the first at " + at
	}
	return text, map[string]any{"errors": wrong, "at": at}
}

// held says what was held back, or is no more; "" = neither.
func (r record) held() string {
	until := ""
	if r.After != nil && !r.After.Until.IsZero() {
		until = " until " + r.After.Until.UTC().Format(time.RFC3339)
	}
	switch r.Action {
	case "pause":
		return fmt.Sprintf("%s is paused%s by %s", r.Target, until, r.By)
	case "throttle":
		if r.After == nil {
			return ""
		}
		return fmt.Sprintf("%s is throttled to %d%s by %s", r.Target, r.After.Most, until, r.By)
	case "resume", "unthrottle":
		return fmt.Sprintf("%s is not held any more (%s by %s)", r.Target, r.Action, r.By)
	case "expire":
		return fmt.Sprintf("%s is not held any more: the hold has ended", r.Target)
	}
	return ""
}

// doubtful are the flags that question a verdict.
func doubtful(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		return flag != "tampered" && flag != "unstable" && flag != "decoy_passed" && !strings.HasPrefix(flag, "cheat:")
	})
}

// tried notes how a try ended, and says so where the machine fails too many of a run, or does no more.
func (k known) tried(r record, n int64) (string, map[string]any) {
	run := k[r.Spec]
	if run == nil {
		k.makeRoom()
		run = &tries{}
		k[r.Spec] = run
	}
	mark := "."
	if r.Status == "infra_error" {
		mark = "x"
	}
	run.Lost, run.Seq = run.Lost+mark, n
	run.Lost = run.Lost[max(0, len(run.Lost)-lastTries):]
	lost := strings.Count(run.Lost, "x")
	if run.Failing && lost > fewAgain || !run.Failing && lost < tooMany {
		return "", nil
	}
	run.Failing = !run.Failing
	text := fmt.Sprintf("%s: the machine failed %d of its last %d tries", r.Spec, lost, len(run.Lost))
	if !run.Failing {
		text = fmt.Sprintf("%s: the machine does not fail it any more, %d of its last %d tries", r.Spec, lost, len(run.Lost))
	}
	return text, map[string]any{"failing": run.Failing, "lost": lost, "tries": len(run.Lost)}
}

// makeRoom forgets the run whose last try is the oldest, where there are many.
func (k known) makeRoom() {
	if len(k) < maxRuns {
		return
	}
	oldest := ""
	for name, run := range k {
		if oldest == "" || run.Seq < k[oldest].Seq {
			oldest = name
		}
	}
	delete(k, oldest)
}

// stored is what is kept of a notice that is in no record.
type stored struct {
	Text string         `json:"text"`
	Data map[string]any `json:"data"`
}

// noticeOf is a stored notice.
func noticeOf(x store.Notice) Notice {
	var s stored
	_ = json.Unmarshal(x.Data, &s) // we wrote it
	return Notice{ID: fmt.Sprintf("notices:%d", x.N), Kind: x.Kind, Spec: x.Spec, Time: x.Time, Text: s.Text, Data: s.Data, n: x.N}
}
