package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/report"
	"github.com/assayd/assayd/reconcile/summary"
)

// functions are what templates have besides those of reports.
var functions = template.FuncMap{
	"asset": asset, "clock": clockTime, "stamp": stamp, "bytes": humanize.IBytes,
	"runPath": RunPath, "trialPath": TrialPath, "actPath": ActPath, "verbs": newOffer, "roundPath": RoundPath, "filePath": filePath, "miningPath": MiningPath, "name": nameOf, "tokens": tokens,
	"stateClass": stateClass, "filtered": withParameter, "caret": caret, "ms": milliseconds, "join": strings.Join, "ratio": ratio,
	"entry": newEntry, "pager": newPager, "trialsAt": trialsAt, "stepsAt": stepsAt, "agentsPath": agentsPath, "gapOf": gapOf, "benchmarkPath": BenchmarkPath, "taskOf": taskOf, "taskAt": taskAt,
	"link": newLink, "healthAt": healthAt, "specPath": specPath, "solved": solved, "word": word, "sum": sum, "plot": plotOf,
	"unsigned": func(n int64) uint64 { return uint64(max(n, 0)) },
	"spaces":   func(n int) string { return strings.Repeat(" ", len(strconv.Itoa(n))) },
}

// RunPath is the address of the page of a run's execution; 0 = the latest one.
func RunPath(address string, execution int) string {
	at := "/runs/" + url.PathEscape(nameOf(address))
	if execution > 0 {
		at += fmt.Sprintf("/e%d", execution)
	}
	return at
}

// TrialPath is the address of the page of a trial.
func TrialPath(id string) string { return "/trials/" + url.PathEscape(id) }

// RoundPath is the address of the page of a round.
func RoundPath(trial, round string) string {
	return TrialPath(trial) + "/rounds/" + url.PathEscape(round)
}

// filePath is the address at which a file of a trial is saved from.
func filePath(trial, name string) string {
	return "/v1/trials/" + url.PathEscape(trial) + "/files/" + url.PathEscape(name)
}

// MiningPath is the address of the page of a mining spec.
func MiningPath(address string) string { return "/mining/" + url.PathEscape(nameOf(address)) }

// nameOf is the name of a spec without its kind.
func nameOf(address string) string {
	if _, name, ok := strings.Cut(address, "."); ok {
		return name
	}
	return address
}

// withParameter is an address with one parameter set to another value; "" takes it away. A page of a list that begins
// elsewhere has no place in the list that results.
func withParameter(u *url.URL, name, value string) string {
	q := u.Query()
	q.Del("after")
	q.Del("part")
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	at := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}
	return at.String()
}

// clockTime is a moment as a clock shows it, in the daemon's zone.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("15:04:05")
}

// stamp is a moment for machines, and for who hovers.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// lasts is how long something took.
func lasts(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return report.Seconds(d.Seconds())
}

func milliseconds(ms int64) string { return lasts(time.Duration(ms) * time.Millisecond) }

func tokens(n int64) string { return strings.TrimSuffix(humanize.SIWithDigits(float64(n), 1, ""), " ") }

// ratio is a part of a whole as a percentage; nil = it is not known.
func ratio(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100**x)
}

// stateClass is the class by which a state has its colour. A word stands beside each colour.
func stateClass(state string) string {
	switch state {
	case "resolved", "finished", "ok", "accepted":
		return "good"
	case "unresolved", "agent_error", "test_error", "rejected":
		return "bad"
	case "setup_error", "sanity_fail", "infra_error", "cancelled", "superseded", "failed":
		return "out"
	case "blocked", "frozen":
		return "warn"
	}
	return "open"
}

// caret is the line below an excerpt that points to where a diagnostic is.
func caret(d config.Diagnostic) string {
	width := 1
	if d.End.Line == d.Line && d.End.Column > d.Column {
		width = min(d.End.Column-d.Column, 80)
	}
	blank := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // as wide as the one above it
		}
		return ' '
	}, firstRunes(d.Snippet, d.Column-1))
	return blank + strings.Repeat("^", width)
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(max(n, 0), len(r))])
}

// states are the states of cells in the order in which a cell goes through them, those of no number last.
func states() []string { return append([]string{"waiting"}, query.CellStates()...) }

// word is a value of a type of words as a plain one.
func word(v any) string { return fmt.Sprint(v) }

// plotOf are the numbers of the curves of a run, for a script.
func plotOf(r *summary.Report) (string, error) {
	return report.Plot(*r, func(name string) string { return string(shown([]byte(name))) })
}

func sum(numbers ...int) (all int) {
	for _, n := range numbers {
		all += n
	}
	return all
}

// entry is one of the navigation.
type entry struct {
	Path, Text string
	Here       bool
}

func newEntry(here, nav, path, text string) entry { return entry{path, text, here == nav} }

// pager leads to other pages of a list.
type pager struct{ Of, First, Next string }

func newPager(of, first, next string) pager { return pager{"Pages of " + of, first, next} }

// trialsAt is where the trials of a side at a task are.
func trialsAt(s summary.Side, task string) string {
	if _, name, ok := strings.Cut(task, "."); ok {
		task = name
	}
	return RunPath(s.Run, s.Execution) + "?" + url.Values{"task": {task}}.Encode() + "#trials"
}

// agentsPath is where the agents of an execution are compared with each other; "" where it has a single one.
func agentsPath(r *summary.Report) string {
	q := url.Values{}
	for i, a := range r.Agents[:min(len(r.Agents), summary.MaxSides)] {
		q.Set(SideNames()[i], sideName(summary.Side{Run: r.Run, Execution: r.Execution, Agent: a.Agent}))
	}
	if len(q) < 2 {
		return ""
	}
	return "/compare?" + q.Encode()
}

// link is a text that leads somewhere; At "" = nowhere.
type link struct{ At, Text string }

func newLink(at, text string) link { return link{at, text} }

// solved says what a check has seen of a task's solution; nil = there is none.
func solved(oracle *bool) string {
	switch {
	case oracle == nil:
		return "there is no solution"
	case *oracle:
		return "the solution passes"
	}
	return "the solution does not pass"
}

// healthAt is the page that a finding is about; "" = none.
func healthAt(f query.HealthFinding) string {
	if f.Rule == query.RuleSpecs {
		return "/specs"
	}
	return specPath(f.Address)
}

// specPath is the page of a run, a mining spec, or a benchmark; "" = the address is of something else.
func specPath(address string) string {
	switch {
	case strings.HasPrefix(address, "run."):
		return RunPath(address, 0)
	case strings.HasPrefix(address, "mining."):
		return MiningPath(address)
	case strings.HasPrefix(address, "benchmark."):
		return BenchmarkPath(address)
	}
	return ""
}
