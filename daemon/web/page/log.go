package page

import (
	"fmt"

	"github.com/assayd/assayd/reconcile/query/trialview"
)

// Log is a part of what an agent has printed.
type Log struct {
	Frame
	Trial    trialview.TrialInfo
	Lines    []OutputLine
	Earlier  string // address of what comes before; "" = it begins here
	Later    string
	End      int64 // of the log, in bytes
	From, To int64
	Missing  string // why there is none
}

// LogTail is where the last page of a log begins that has so many bytes: it has as much as a page and up to twice that.
// All pages begin at multiples of that much, so that no two of them have the same lines.
func LogTail(end int64) int64 {
	return max(0, end/trialview.OutputPageSize-1) * trialview.OutputPageSize
}

// NewLog makes the page of a part of a log.
func NewLog(f Frame, t trialview.TrialInfo, text string, from, to, end int64) *Log {
	f.Title, f.Nav, f.Topics = "log of "+t.ID, "runs", []string{t.ID}
	v := &Log{Frame: f, Trial: t, From: from, To: to, End: end}
	if text == "" {
		v.Missing = "The agent has printed nothing."
		return v
	}
	v.Lines = outputLines(text)
	at := TrialPath(t.ID) + "/log"
	if from > 0 {
		v.Earlier = fmt.Sprintf("%s?offset=%d", at, max(0, from-trialview.OutputPageSize))
	}
	if to < end {
		if v.Later = at; to != LogTail(end) {
			v.Later = fmt.Sprintf("%s?offset=%d", at, to)
		}
		v.Topics = nil // what is shown does not change
	}
	return v
}
