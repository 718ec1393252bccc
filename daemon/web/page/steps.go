package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// Steps are what an agent and its models said to each other.
type Steps struct {
	Frame
	Trial       trialview.TrialInfo
	Items       []StepLine
	From, All   int    // number of the first one that is shown, from 1
	Begins      string // address of the first ones; "" = these are they
	Earlier     string // address of those before; "" = there are none, or they are in files
	Later       string
	Tool        string // that was called in those that are shown; "" = any
	Failed      bool
	URL         *url.URL
	NotFiltered string
	Reading     string // how much of the transcript is read, where it is for the first time; "" = all is
}

// StepLine is a step in a list.
type StepLine struct {
	transcript.Step
	Of       string        // before its id, where a page has steps of several trials
	Since    time.Duration // since the trial began
	Said     []Clipped
	Answer   Clipped
	Thoughts Clipped
	Calls    []CallLine
}

// CallLine is a call of a tool.
type CallLine struct {
	Name      string
	Arguments Clipped
}

// Clipped is a text of which the first lines are shown, and the rest when it is asked for.
type Clipped struct {
	Who   string
	Text  string // the first lines
	Rest  string // those behind them
	Lines int    // in the rest
}

// Head is the beginning of the text, in one line.
func (c Clipped) Head() string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Text), "\n")
	return clipped(line, 100)
}

// How much of a text is shown at once.
const (
	firstLines = 40
	firstBytes = 8 << 10
)

func clip(who, text string) Clipped {
	c := Clipped{Who: who}
	lines := strings.SplitAfter(text, "\n")
	var first strings.Builder
	for i, line := range lines {
		if i == firstLines || first.Len() > 0 && first.Len()+len(line) > firstBytes {
			c.Rest, c.Lines = strings.Join(lines[i:], ""), len(lines)-i
			break
		}
		first.WriteString(line)
	}
	c.Text = first.String()
	return c
}

func lineOfStep(s transcript.Step, start time.Time) StepLine {
	l := StepLine{Step: s, Answer: clip("", s.Text), Thoughts: clip("", s.Reasoning)}
	if !start.IsZero() {
		l.Since = max(0, s.Time.Sub(start))
	}
	for _, m := range s.Messages {
		l.Said = append(l.Said, clip(m.Role, m.Text))
	}
	for _, c := range s.Calls {
		l.Calls = append(l.Calls, CallLine{c.Name, clip("", readable(c.Arguments))})
	}
	return l
}

// readable are arguments of a call: those of one member as its value, which is a command nearly always.
func readable(arguments string) string {
	var members map[string]any
	if json.Unmarshal([]byte(arguments), &members) != nil || len(members) != 1 {
		return arguments
	}
	for _, v := range members {
		if text, is := v.(string); is {
			return text
		}
	}
	return arguments
}

// NewSteps makes a page of the steps of a trial.
func NewSteps(f Frame, t trialview.TrialInfo, p trialview.StepPage, at *url.URL, limit int) *Steps {
	f.Title, f.Nav, f.Topics = "steps of "+t.ID, "runs", []string{t.ID}
	q := at.Query()
	v := &Steps{Frame: f, Trial: t, From: p.First + 1, All: p.All, URL: at, Tool: q.Get("tool"), Failed: q.Get("errors") != "", NotFiltered: TrialPath(t.ID) + "/steps"}
	if p.Reading {
		v.Reading, v.Again = ratio(&p.Read), true
		return v
	}
	for _, s := range p.Steps {
		v.Items = append(v.Items, lineOfStep(s, p.Start))
	}
	placed := func(from int) string {
		q.Del("at")
		q.Del("part")
		q.Del("from")
		if from > 0 {
			q.Set("from", fmt.Sprint(from))
		}
		return strings.TrimSuffix(v.NotFiltered+"?"+q.Encode(), "?")
	}
	if p.First > 0 {
		v.Begins = placed(0)
	}
	if p.First > limit && f.Still == nil { // a page of large steps has fewer of them
		v.Earlier = placed(p.First - limit)
	}
	if p.Next < p.All {
		v.Later = placed(p.Next)
		v.Topics = nil // what is shown does not change
	}
	return v
}
