package page

import (
	"fmt"
	"net/url"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
)

// CompareSteps are the steps of two trials at the same task, beside each other.
type CompareSteps struct {
	Frame
	Task    string
	Compare string // address of the page that compares the two sides
	Columns []StepsColumn
}

// StepsColumn are the steps of one side.
type StepsColumn struct {
	Letter   string
	Side     string
	Trial    query.CellInfo
	Attempts []AttemptLink // where the side has several
	Items    []StepLine
	From     int // number of the first one that is shown, from 1
	All      int
	Reading  string // how much of the transcript is read, where it is for the first time; "" = all is
	Earlier  string // address with those before in this column; "" = these are the first ones
	Later    string
}

// AttemptLink leads to another attempt of a side.
type AttemptLink struct {
	Attempt int
	At      string // "" = it is shown
}

// SideSteps is what is read of a side.
type SideSteps struct {
	Name   string
	Trials []query.CellInfo // at the task; not empty
	Shown  int              // place among Trials
	Steps  trialview.StepPage
}

// NewCompareSteps makes the page of two trials' steps.
func NewCompareSteps(f Frame, at *url.URL, task string, sides []SideSteps, limit int) *CompareSteps {
	f.Title, f.Nav = "steps at "+task, "runs"
	v := &CompareSteps{Frame: f, Task: task}
	names := url.Values{}
	for i, s := range sides {
		key := SideNames()[i]
		names.Set(key, s.Name)
		with := func(name string, n int) string { return withParameter(at, name+"_"+key, fmt.Sprint(n)) }
		c := StepsColumn{Letter: letter(i), Side: s.Name, Trial: s.Trials[s.Shown], From: s.Steps.First + 1, All: s.Steps.All}
		for n, t := range s.Trials {
			link := AttemptLink{Attempt: t.Attempt}
			if n != s.Shown {
				link.At = withParameter(at, "from_"+key, "")
				if u, err := url.Parse(link.At); err == nil {
					link.At = withParameter(u, "trial_"+key, fmt.Sprint(n))
				}
			}
			if len(s.Trials) > 1 {
				c.Attempts = append(c.Attempts, link)
			}
		}
		if s.Steps.Reading {
			c.Reading, v.Again = ratio(&s.Steps.Read), true
		}
		for _, step := range s.Steps.Steps {
			line := lineOfStep(step, s.Steps.Start)
			line.Of = key + "-"
			c.Items = append(c.Items, line)
		}
		if s.Steps.First > 0 {
			c.Earlier = with("from", max(0, s.Steps.First-limit))
		}
		if s.Steps.Next < s.Steps.All {
			c.Later = with("from", s.Steps.Next)
		}
		v.Columns = append(v.Columns, c)
	}
	v.Compare = "/compare?" + names.Encode()
	return v
}
