package page

import (
	"fmt"

	"github.com/assayd/assayd/reconcile/query"
)

// Log is a part of what an agent has printed.
type Log struct {
	Frame
	Trial    query.TrialInfo
	Lines    []OutputLine
	Earlier  string // address of what comes before; "" = it begins here
	Later    string
	End      int64 // of the log, in bytes
	From, To int64
	Missing  string // why there is none
}

// NewLog makes the page of a part of a log.
func NewLog(f Frame, t query.TrialInfo, text string, from, to, end int64) *Log {
	f.Title, f.Nav, f.Topics = "log of "+t.ID, "runs", []string{t.ID}
	v := &Log{Frame: f, Trial: t, From: from, To: to, End: end}
	if text == "" {
		v.Missing = "The agent has printed nothing."
		return v
	}
	v.Lines = outputLines(text)
	at := TrialPath(t.ID) + "/log"
	if from > 0 {
		v.Earlier = fmt.Sprintf("%s?offset=%d", at, max(0, from-query.OutputPageSize))
	}
	if to < end {
		v.Later = fmt.Sprintf("%s?offset=%d", at, to)
		v.Topics = nil // what is shown does not change
	}
	return v
}
