package vet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// Run is one judging of a task.
type Run struct {
	Report round.Report
	Memory int64  // bytes that its containers were seen to use; 0 = not known
	Lost   string // why there is no report, as of a patch that does not apply
}

// Runs are all judgings of a task.
type Runs struct {
	Oracle []Run          // of the solution; none = there is none
	Nop    []Run          // of the untouched tree
	Empty  []Run          // of a patch without content
	Cheats map[string]Run // of each adversary, by its name
}

// Summary is what the judgings of a task have shown, in the words of the record.
type Summary struct {
	Oracle  *bool    `json:"oracle"` // the solution passed each time; null = there is none
	Nop     bool     `json:"nop"`    // the untouched tree failed each time, as the task says
	Stable  bool     `json:"stable"` // each run showed the same
	Flips   []string `json:"flips"`  // the tests that came out in different ways
	Gained  []string `json:"gained"` // names of the adversaries that passed
	JudgeMS int64    `json:"judge_ms"`
	Memory  int64    `json:"memory_bytes"` // the most that was seen; 0 = not known
}

// Conclude says what the judgings of a task show.
func Conclude(t task.Task, runs Runs) (s Summary, findings []Finding) {
	s = Summary{Flips: []string{}, Gained: []string{}}
	say := func(check string, severity Severity, format string, args ...any) {
		findings = append(findings, Finding{check, severity, fmt.Sprintf(format, args...)})
	}
	s.Oracle = concludeOracle(runs.Oracle, say)
	s.Nop = concludeNop(t, runs, say)
	s.Flips = concludeStable(runs, say)
	s.Stable = len(s.Flips) == 0
	s.Gained = concludeCheats(t, runs, say)
	s.JudgeMS, s.Memory = concludeUse(t, runs, say)
	concludeFeedback(t, runs, say)
	return s, findings
}

// sayer takes a finding.
type sayer func(check string, severity Severity, format string, args ...any)

// passes reports whether an agent with that report would have resolved the task.
func passes(r Run) bool {
	return r.Lost == "" && r.Report.Valid && !r.Report.Tampered && r.Report.PassRate == 1
}

// why says in words how a run failed.
func why(r Run) string {
	switch {
	case r.Lost != "":
		return r.Lost
	case r.Report.Problem != "":
		return fmt.Sprintf("%s: %s", r.Report.Status, r.Report.Problem)
	}
	for _, t := range r.Report.Tests {
		if t.Status != parser.Passed && t.Status != parser.Skipped {
			return fmt.Sprintf("%d of %d tests pass; %s fails%s", r.Report.Passed, r.Report.TotalTests, t.Name, because(t.Message))
		}
	}
	return fmt.Sprintf("pass rate %.4g, %s", r.Report.PassRate, r.Report.Status)
}

func because(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if line == "" {
		return ""
	}
	return " (" + line[:min(len(line), 200)] + ")"
}

func concludeOracle(runs []Run, say sayer) *bool {
	if len(runs) == 0 {
		say(Oracle, Flags, "there is no solution: nothing shows that the task can be done")
		return nil
	}
	passed, failed := 0, Run{}
	for _, r := range runs {
		if passes(r) {
			passed++
		} else {
			failed = r
		}
	}
	all := passed == len(runs)
	if !all {
		say(Oracle, Breaks, "the solution passes %d of %d times; %s", passed, len(runs), why(failed))
	}
	return &all
}

func concludeNop(t task.Task, runs Runs, say sayer) (fails bool) {
	fails = true
	seen := map[string]bool{}
	for _, r := range runs.Nop {
		offence, severity := scoring.Sane(t, r.Report), Breaks
		if problem := scoring.Unusable(r.Report); r.Lost != "" || problem != "" {
			offence = "nothing is known of the tests on the untouched tree: " + r.Lost + problem
			if r.Lost == "" && r.Report.Status == round.StatusInvalid && !r.Report.NotRun {
				severity = Flags // it does fail, and single mode takes nobody's work then
			}
		}
		if offence == "" {
			continue
		}
		if fails = fails && severity == Flags; !seen[offence] {
			seen[offence] = true
			say(Nop, severity, "%s", offence)
		}
	}
	for _, r := range runs.Empty {
		if passes(r) {
			say(Empty, Breaks, "a patch without content passes")
		}
	}
	return fails
}

// concludeStable names the tests that did not come out the same in all runs of one tree.
func concludeStable(runs Runs, say sayer) []string {
	flips := map[string]bool{}
	for _, side := range []struct {
		of   string
		runs []Run
	}{{"with the solution", runs.Oracle}, {"on the untouched tree", slices.Concat(runs.Nop, runs.Empty)}} {
		for name, ways := range outcomes(side.runs) {
			if len(ways) < 2 {
				continue
			}
			flips[name] = true
			var told []string
			for _, way := range slices.Sorted(maps.Keys(ways)) {
				told = append(told, fmt.Sprintf("%s %d×", way, ways[way]))
			}
			say(Stable, Breaks, "%s is not stable %s: %s", name, side.of, strings.Join(told, ", "))
		}
	}
	return slices.Sorted(maps.Keys(flips))
}

// whole stands for the verdict where a judge names no test.
const whole = "the verdict"

// outcomes counts by test how it came out.
func outcomes(runs []Run) map[string]map[string]int {
	names, all := map[string]bool{}, make([]map[string]string, 0, len(runs))
	for _, r := range runs {
		seen := map[string]string{whole: "passes"}
		if !passes(r) {
			seen[whole] = "fails"
		}
		for _, t := range r.Report.Tests {
			if seen[t.Name] == "" || t.Status != parser.Passed {
				seen[t.Name] = string(t.Status)
			}
		}
		for name := range seen {
			names[name] = true
		}
		all = append(all, seen)
	}
	if len(names) > 1 {
		delete(names, whole)
	}
	out := map[string]map[string]int{}
	for name := range names {
		out[name] = map[string]int{}
		for _, seen := range all {
			way := seen[name]
			if way == "" {
				way = "not seen"
			}
			out[name][way]++
		}
	}
	return out
}

// concludeCheats names the adversaries that passed; one that only gets further than the
// untouched tree is a warning.
func concludeCheats(t task.Task, runs Runs, say sayer) []string {
	gained := []string{}
	rate, score, scored := reached(t, runs.Nop)
	for _, name := range slices.Sorted(maps.Keys(runs.Cheats)) {
		r := runs.Cheats[name]
		counts := r.Lost == "" && r.Report.Valid && !r.Report.Tampered
		switch {
		case passes(r):
			gained = append(gained, name)
			say(Cheating, Flags, "%s passes: %s", name, about(name))
		case r.Report.Status == round.StatusError:
			say(Cheating, Flags, "%s was not judged: %s", name, r.Report.Problem)
		case counts && r.Report.PassRate > rate+1e-9:
			say(Cheating, Warns, "%s reaches a pass rate of %.4g, where the untouched tree has %.4g", name, r.Report.PassRate, rate)
		case counts && scored && r.Report.Score != nil && better(t, *r.Report.Score, score):
			say(Cheating, Warns, "%s scores %.6g, where the untouched tree scores %.6g", name, *r.Report.Score, score)
		}
	}
	return gained
}

// reached is the best that the untouched tree came to.
func reached(t task.Task, runs []Run) (rate, score float64, scored bool) {
	for _, r := range runs {
		rate = max(rate, r.Report.PassRate)
		if s := r.Report.Score; s != nil && (!scored || better(t, *s, score)) {
			score, scored = *s, true
		}
	}
	return rate, score, scored
}

func better(t task.Task, a, b float64) bool {
	if t.Judge.Direction == "minimize" {
		return a < b
	}
	return a > b
}

// most is the share of a bound beyond which a judging is too near to it.
const most = 0.8

// concludeUse tells the time and the memory of the judgings of the solution and the untouched
// tree.
func concludeUse(t task.Task, runs Runs, say sayer) (ms, memory int64) {
	longest := int64(0) // of what has the timeout to itself
	for _, r := range slices.Concat(runs.Oracle, runs.Nop) {
		ms, memory = max(ms, r.Report.JudgeMS), max(memory, r.Memory)
		if scoring.ByCommands(t) {
			for _, test := range r.Report.Tests {
				if test.DurationMS != nil {
					longest = max(longest, *test.DurationMS)
				}
			}
		} else {
			longest = max(longest, r.Report.JudgeMS)
		}
	}
	bound := t.Judge.Timeout
	if t.Judge.Staged() {
		bound = t.Judge.Run.Timeout + t.Judge.Grade.Timeout
	}
	took := time.Duration(longest) * time.Millisecond
	if bound > 0 && float64(took) > most*float64(bound) {
		say(Time, Warns, "judging took %s of %s", took.Round(100*time.Millisecond), bound)
	}
	if limit := t.Judge.Memory; limit > 0 && float64(memory) > most*float64(limit) {
		say(Memory, Warns, "judging was seen to use %d MiB of %d MiB", memory>>20, limit>>20)
	}
	return ms, memory
}

// expectation is how runners and tests put what they expected.
var expectation = regexp.MustCompile(`(?i)\bassert\b.*[!=]=|\bexpect(ed|ing)?\b|\bwant(ed)?\b|\bto (be|equal|match)\b|\b(left|right): `)

// concludeFeedback looks for expected values in what agents would be told.
func concludeFeedback(t task.Task, runs Runs, say sayer) {
	if !scoring.TellsMessages(t) {
		return
	}
	for _, r := range slices.Concat(runs.Nop, slices.Collect(maps.Values(runs.Cheats))) {
		for _, test := range r.Report.Tests {
			if test.Status != parser.Passed && expectation.MatchString(test.Message) {
				say(Feedback, Warns, `feedback = "full" tells agents what hidden tests expect, as of %s%s`, test.Name, because(test.Message))
				return
			}
		}
	}
}
