package export

import (
	"path"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// ctrfReport is the Common Test Report Format.
type ctrfReport struct {
	Format      string      `json:"reportFormat"`
	Version     string      `json:"specVersion"`
	Timestamp   string      `json:"timestamp,omitempty"`
	GeneratedBy string      `json:"generatedBy"`
	Results     ctrfResults `json:"results"`
}

type ctrfResults struct {
	Tool    ctrfTool       `json:"tool"`
	Summary ctrfSummary    `json:"summary"`
	Tests   []ctrfTest     `json:"tests"`
	Extra   map[string]any `json:"extra"`
}

type ctrfTool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type ctrfSummary struct {
	Tests   int   `json:"tests"`
	Passed  int   `json:"passed"`
	Failed  int   `json:"failed"`
	Pending int   `json:"pending"`
	Skipped int   `json:"skipped"`
	Other   int   `json:"other"`
	Start   int64 `json:"start"` // milliseconds of the epoch
	Stop    int64 `json:"stop"`
}

type ctrfTest struct {
	Name     string         `json:"name"`
	Status   string         `json:"status"`
	Duration int64          `json:"duration"` // milliseconds; 0 where nobody measured
	Message  string         `json:"message,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}

// writeCTRF writes a report of the round that counts, for each trial that has one.
func writeCTRF(x *outcomes) error {
	for _, o := range x.trials {
		if o.best == nil {
			continue
		}
		if err := x.tree.json(path.Join(x.dir, o.name+".json"), ctrfOf(o, x.version)); err != nil {
			return err
		}
	}
	return nil
}

// ctrfOf is the report of the round that counts.
func ctrfOf(o outcome, version string) ctrfReport {
	began, ended := o.judging()
	r := ctrfReport{Format: "CTRF", Version: "1.0.0", Timestamp: ended.Format(time.RFC3339), GeneratedBy: "assayd"}
	r.Results = ctrfResults{
		Tool:    ctrfTool{Name: "assayd", Version: version},
		Summary: ctrfSummary{Start: began.UnixMilli(), Stop: ended.UnixMilli()},
		Tests:   []ctrfTest{},
		Extra: map[string]any{
			"trial": o.ID, "task": o.Cell.Task.Name, "benchmark": o.Cell.Task.Benchmark, "agent": o.Cell.Agent.Title(), "model": o.Cell.Agent.Model,
			"attempt": o.Cell.Attempt, "round": o.best.Round, "pass_rate": o.best.Report.PassRate, "score": o.best.Report.Score, "valid": o.best.Report.Valid,
		},
	}
	for _, t := range o.tests() {
		c := ctrfTest{Name: t.Name, Message: t.Message}
		if t.DurationMS != nil {
			c.Duration = *t.DurationMS
		}
		if t.Score != nil {
			c.Extra = map[string]any{"score": *t.Score}
		}
		c.Status = r.Results.Summary.count(t.Status)
		r.Results.Tests = append(r.Results.Tests, c)
	}
	return r
}

// count adds a test, and returns its status in the words of the format, which has none for
// a test that broke.
func (s *ctrfSummary) count(status parser.Status) string {
	s.Tests++
	switch status {
	case parser.Passed:
		s.Passed++
		return "passed"
	case parser.Failed:
		s.Failed++
		return "failed"
	case parser.Skipped:
		s.Skipped++
		return "skipped"
	}
	s.Other++
	return "other"
}

// judging is when the round that counts was judged.
func (o outcome) judging() (began, ended time.Time) {
	began, ended = o.best.StartedAt, o.best.JudgedAt
	if began.IsZero() {
		began = o.best.AcceptedAt
	}
	if ended.Before(began) {
		ended = began.Add(time.Duration(o.best.Report.DurationMS) * time.Millisecond)
	}
	return began.UTC(), ended.UTC()
}
