package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/judge/round"
)

// progress shows what happens: a table that is drawn again on a terminal, a line for each
// event elsewhere.
type progress struct {
	e     *env
	live  bool
	since time.Time       // when the command came
	seen  map[string]bool // events; nil before the first look
	told  told            // what went wrong, as its lines said
	lines int             // of the table on the screen
}

func (p *progress) show(now followed) {
	if p.e.json {
		return
	}
	if p.live {
		p.draw(now)
		return
	}
	first := p.seen == nil
	if first {
		p.seen = map[string]bool{}
	}
	for _, m := range now.minings {
		x := m.Progress
		p.once(fmt.Sprint(m.Address, m.State, m.Note, x.Seen, x.Accepted, x.Rejected, x.Failed), "%s: %s; %d pull requests seen, %d accepted, %d rejected, %d failed, %d open%s",
			m.Address, m.State, x.Seen, x.Accepted, x.Rejected, x.Failed, x.Open, noteOf(m))
	}
	for _, r := range now.runs {
		if r.Note != "" && r.State != "blocked" {
			p.once(r.Address+r.Note, "%s: %s", r.Address, r.Note)
		}
		if r.Differs != nil && !slices.ContainsFunc(r.Trials, func(t trialview.TrialStatus) bool { return t.Status != "" && t.Ended.Before(p.since) }) {
			p.once(fmt.Sprint(r.Address, r.Execution), "%s e%d: %s", r.Address, r.Execution, r.Differs.Since("the execution before"))
		}
		for _, t := range now.changed(r) {
			try := fmt.Sprint(t.ID, t.Try)
			if first && t.Status != "" && t.Ended.Before(p.since) {
				p.seen[try] = true // over before the command came
			}
			if !p.seen[try] {
				p.events(t)
			}
		}
	}
}

// await waits until it is worth looking again, and draws the table anew meanwhile. It reports
// whether somebody has asked to stop.
func (p *progress) await(ctx context.Context, now followed, looks <-chan struct{}, interrupts <-chan os.Signal) (stopped bool, err error) {
	soon, late, draw := time.NewTimer(lookPause), time.NewTimer(lookLong), time.NewTicker(drawPause)
	defer soon.Stop()
	defer late.Stop()
	defer draw.Stop()
	var news <-chan struct{} // nil = it is too early
	for {
		select {
		case <-soon.C:
			news = looks
		case <-news:
			return false, nil
		case <-late.C:
			return false, nil
		case <-draw.C:
			if p.live && !p.e.json {
				p.draw(now.aged(drawPause))
			}
		case <-interrupts:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// last shows what happened since the last look.
func (p *progress) last(now followed) {
	if p.live {
		p.clear()
	} else {
		p.show(now)
	}
}

// noteOf is what a mining spec waits for, or why it is over.
func noteOf(m query.MiningStatus) string {
	if m.Note == "" {
		return ""
	}
	return " (" + m.Note + ")"
}

func (p *progress) events(t trialview.TrialStatus) {
	if !t.Started.IsZero() {
		p.once(fmt.Sprint(t.ID, t.Try, "started"), "%s: started, task %s, agent %s, until %s", t.ID, t.Task, agentOf(t), t.Deadline.Local().Format(time.TimeOnly))
	}
	for _, r := range t.Rounds {
		if r.State == round.StateJudged {
			if key := t.ID + r.Round; !p.seen[key] {
				p.once(key, "%s: %s %s", t.ID, r.Round, verdictOf(r.Report))
				p.told.round(r.Report)
			}
		}
	}
	if key := fmt.Sprint(t.ID, t.Try, "ended"); t.Status != "" && !p.seen[key] {
		p.once(key, "%s: %s%s%s", t.ID, stateOf(t), tryOf(t), p.told.ended(t))
	}
}

// tryOf counts the tries once there is more than one.
func tryOf(t trialview.TrialStatus) string {
	if t.Try < 2 {
		return ""
	}
	return fmt.Sprintf(", try %d", t.Try)
}

func verdictOf(r *round.Report) string {
	if r.Status != round.StatusOK {
		return fmt.Sprintf("%s (%s)", r.Status, clipLine(r.Problem))
	}
	if r.TotalTests == 0 {
		return resultOf(r)
	}
	text := fmt.Sprintf("%d/%d passed", r.Passed, r.TotalTests)
	if r.Score != nil {
		text += ", score " + shown(*r.Score)
	}
	return text
}

func clipLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > 500 {
		return string(runes[:500]) + "…"
	}
	return line
}

func (p *progress) once(key, format string, args ...any) {
	if !p.seen[key] {
		p.seen[key] = true
		fmt.Fprintf(p.e.err, format+"\n", args...)
	}
}

func (p *progress) say(text string) {
	p.clear()
	fmt.Fprintln(p.e.err, text)
}

// draw replaces the table on the screen.
func (p *progress) draw(now followed) {
	var b bytes.Buffer
	for _, m := range now.minings {
		if err := showMining(&b, m); err != nil {
			return
		}
	}
	at := time.Now()
	for _, r := range now.runs {
		if err := showRun(&b, fitting(r), at); err != nil {
			return
		}
	}
	p.clear()
	p.lines = bytes.Count(b.Bytes(), []byte("\n"))
	_, _ = p.e.err.Write(b.Bytes())
}

// mostRows is how many trials of a run a table on a terminal has: what does not fit cannot be drawn
// over.
const mostRows = 20

// fitting is the run with as many of its trials as fit: those that work, and then the last ones.
func fitting(r query.RunStatus) query.RunStatus {
	if len(r.Trials) <= mostRows {
		return r
	}
	some := slices.Clone(r.Trials)
	slices.SortStableFunc(some, func(a, b trialview.TrialStatus) int {
		open := func(t trialview.TrialStatus) int {
			if t.Status == "" {
				return 0
			}
			return 1
		}
		return cmp.Or(open(a)-open(b), b.Ended.Compare(a.Ended))
	})
	r.Trials, r.Truncated = some[:mostRows], true
	return r
}

// clear removes the table: up, and erase to the end of the screen.
func (p *progress) clear() {
	if p.lines > 0 {
		steer(p.e.err, fmt.Sprintf("\x1b[%dA\x1b[J", p.lines))
		p.lines = 0
	}
}

// showOutcome prints what runs amount to: a table, the score over time, the results.
func showOutcome(w io.Writer, now followed, o outcome) error {
	for _, m := range now.minings {
		fmt.Fprintln(w)
		if err := showMining(w, m); err != nil {
			return err
		}
	}
	for _, r := range now.runs {
		fmt.Fprintf(w, "\n%s\n", titleOf(r))
		if o.old[r.Address] {
			fmt.Fprintf(w, "nothing was done for it; to see it: assayd status %s\n", r.Address)
			continue
		}
		if never := r.Wanted - begunOf(r); never > 0 && r.State == "finished" {
			fmt.Fprintf(w, "%d of %d trials never began\n", never, r.Wanted)
		}
		if len(r.Trials) == 0 {
			continue
		}
		if err := showOutcomes(w, r, o.said); err != nil {
			return err
		}
		showBroken(w, r, o.paths)
		showCurve(w, r)
		fmt.Fprintf(w, "\nresults: %s\n", relative(r.Results))
		fmt.Fprintf(w, "look closer: assayd submissions %s\n", closest(r.Trials))
	}
	return nil
}

func showOutcomes(w io.Writer, r query.RunStatus, said told) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TASK\tAGENT\tSTATUS\tROUNDS\tBEST\tPASSED\tTIME\tTRIAL\t")
	for _, x := range r.Trials {
		best := bestOf(x)
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n",
			x.Task, agentOf(x), stateOf(x), len(x.Rounds), best.name, best.passed, clock(x, time.Now()), x.ID)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	showDetails(w, "", r.Trials, said)
	if s := r.Summary; s != nil {
		showHeadline(w, *s)
	}
	showUnfixed(w, r)
	return nil
}

// showHeadline shows the rates of agents, and beside them what controls came to.
func showHeadline(w io.Writer, s summary.Summary) {
	if s.ResolvedRate != nil {
		fmt.Fprintf(w, "\n%s resolved (%.0f %%, 95 %% interval %.0f–%.0f %%)",
			resolvedOf(s), 100*s.ResolvedRate.Value, 100*s.ResolvedRate.Low, 100*s.ResolvedRate.High)
		if s.PassRate != nil {
			fmt.Fprintf(w, ", mean pass rate %.2f", s.PassRate.Value)
		}
		fmt.Fprintln(w)
	}
	if s.NoManifest > 0 {
		fmt.Fprintf(w, "no pass rate of %s is in the mean: their tasks have neither a manifest nor a solution that passes (no_manifest)\n", counted(s.NoManifest, "trial"))
	}
	if s.Stopped > 0 {
		fmt.Fprintf(w, "a user stopped %s before the time was over; what it had is judged and counts (stopped)\n", counted(s.Stopped, "trial"))
	}
	var controls []string
	for _, name := range slices.Sorted(maps.Keys(s.Controls)) {
		if c := s.Controls[name]; c.ResolvedRate != nil {
			controls = append(controls, fmt.Sprintf("%s %s resolved", printable(name), resolvedOf(c)))
		}
	}
	if len(controls) > 0 {
		fmt.Fprintf(w, "controls: %s\n", strings.Join(controls, ", "))
	}
}

// curveWidth and curveHeight are the size of the plot in characters.
const (
	curveWidth  = 60
	curveHeight = 8
)

// showCurve plots the best pass rate so far over the time since the trials began, for
// each agent.
func showCurve(w io.Writer, r query.RunStatus) {
	end := 0.0
	agents := map[string][]trialview.TrialStatus{}
	for _, t := range r.Trials {
		if t.Status.Counts() {
			agents[agentOf(t)] = append(agents[agentOf(t)], t)
			for _, round := range t.Counted() {
				end = math.Max(end, round.ElapsedS)
			}
		}
	}
	if end == 0 {
		return
	}
	names := make([]string, 0, len(agents))
	for name := range agents {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(w, "\nbest pass rate over %s, mean of each agent's trials\n", (time.Duration(end*1000) * time.Millisecond).Round(time.Second/10))
	for _, name := range names {
		points := curve(agents[name], end)
		if low, high := slices.Min(points), slices.Max(points); low == high {
			fmt.Fprintf(w, "\n%s: %.2f all the time\n", name, high)
			continue
		}
		fmt.Fprintf(w, "\n%s\n%s\n", name, asciigraph.Plot(points, asciigraph.Height(curveHeight), asciigraph.Width(curveWidth),
			asciigraph.LowerBound(0), asciigraph.UpperBound(1), asciigraph.Precision(2)))
	}
}

// curve is the mean best pass rate at evenly spaced moments up to end seconds.
func curve(trials []trialview.TrialStatus, end float64) []float64 {
	points := make([]float64, curveWidth)
	for i := range points {
		at := end * float64(i+1) / curveWidth
		for _, t := range trials {
			best := 0.0
			for _, r := range t.Counted() {
				if r.Report != nil && r.Report.Valid && r.ElapsedS <= at+1e-9 {
					best = max(best, r.Report.PassRate)
				}
			}
			points[i] += best / float64(len(trials))
		}
	}
	return points
}

// relative shortens a path below the working directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}
