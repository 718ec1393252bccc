package parser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// structuredParser reads a result that the judge command itself wrote as a JSON object.
func structuredParser() Parser {
	return Parser{Name: "structured_json", Parse: parseStructured}
}

// Marks around a structured result; each is a line of its own.
const (
	structuredStart = ">>>>> Start Structured Result"
	structuredEnd   = ">>>>> End Structured Result"
)

// maxMetrics bounds how many metrics are kept.
const maxMetrics = 1000

func parseStructured(in Input) Result {
	no := false
	fields, err := findStructured(in.Output)
	if err != nil {
		return Result{Valid: &no, Problem: cleanText(err.Error(), 300)}
	}
	r := structuredReader{fields: fields}
	result := r.read(in)
	if len(r.wrong) > 0 {
		result.Valid = &no
	}
	return result
}

// findStructured returns the fields of the last marked block; without one, of the last
// line that is an object with a field we know; without that, of the whole output.
func findStructured(output []byte) (map[string]json.RawMessage, error) {
	var block, object []byte
	start, offset := -1, 0
	for raw := range bytes.Lines(output) {
		line := bytes.TrimRight(raw, "\r\n")
		switch {
		case string(line) == structuredStart:
			start = offset + len(raw)
		case string(line) == structuredEnd && start >= 0:
			block, start = output[start:offset], -1
		case isStructured(line):
			object = line
		}
		offset += len(raw)
	}
	switch {
	case block != nil:
		fields, err := readObject(block)
		if err != nil {
			return nil, fmt.Errorf("read the structured result: %w", err)
		}
		return fields, nil
	case object != nil:
		return readObject(object)
	case isStructured(bytes.TrimSpace(output)):
		return readObject(output)
	}
	return nil, errors.New("no structured result found in the output")
}

// isStructured says whether text is an object with a field that makes it a result.
func isStructured(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) {
		return false
	}
	fields, err := readObject(text)
	if err != nil {
		return false
	}
	for _, name := range []string{"valid", "score", "summary", "details", "metrics", "pass_rate"} {
		if _, ok := fields[name]; ok {
			return true
		}
	}
	return false
}

func readObject(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, errors.New("not an object")
	}
	return fields, nil
}

// structuredReader turns the fields of an object into a result and gathers what is wrong.
type structuredReader struct {
	fields map[string]json.RawMessage
	tests  tally
	wrong  problems
}

func (r *structuredReader) read(in Input) Result {
	valid, summary := true, ""
	r.field("valid", &valid)
	r.field("summary", &summary)
	score, rate := r.number("score"), r.number("pass_rate")
	if _, told := r.fields["score"]; !told {
		score = totalScore(in.Output)
	}
	if rate == nil {
		rate = r.ratio()
	}
	if rate != nil && (*rate < 0 || *rate > 1) {
		r.wrong.addf("pass_rate is not between 0 and 1")
		rate = nil
	}
	metrics := r.metrics()
	r.details()
	if in.TimedOut {
		r.wrong.addf("the command ran out of time")
	}
	if r.tests.over {
		r.wrong.addf("more than %d tests", maxTests)
	}
	return Result{
		Tests:    r.tests.tests,
		Score:    score,
		PassRate: rate,
		Valid:    &valid,
		Summary:  cleanText(summary, maxSummary),
		Metrics:  metrics,
		Complete: len(r.wrong) == 0,
		Problem:  strings.Join(r.wrong, "; "),
	}
}

// field reads an optional field, and reports whether it could be; null is as good as absent.
func (r *structuredReader) field(name string, into any) bool {
	raw, ok := r.fields[name]
	if !ok {
		return true
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.wrong.addf("field %s has the wrong type", name)
		return false
	}
	return true
}

// number reads an optional number. JSON has no NaN or infinity, and what is too large for
// a float is refused by the decoder: the result is finite or nil.
func (r *structuredReader) number(name string) *float64 {
	var n *float64
	if !r.field(name, &n) {
		return nil
	}
	return n
}

// ratio makes a pass rate of counts, where the object has counts and no tests.
func (r *structuredReader) ratio() *float64 {
	var details []json.RawMessage
	if json.Unmarshal(r.fields["details"], &details) == nil && len(details) > 0 {
		return nil
	}
	passed, total := r.number("passed"), r.number("total_tests")
	if passed == nil || total == nil || *total <= 0 {
		return nil
	}
	rate := *passed / *total
	return &rate
}

// metrics are those that are numbers. Graders put tables and words among them, which are for
// people who read the output.
func (r *structuredReader) metrics() map[string]float64 {
	var raw map[string]json.RawMessage
	r.field("metrics", &raw)
	metrics := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		var n *float64
		if json.Unmarshal(raw[name], &n) != nil || n == nil {
			continue
		}
		if len(metrics) == maxMetrics {
			r.wrong.addf("more than %d metrics", maxMetrics)
			break
		}
		metrics[cleanName(name)] = *n
	}
	return metrics
}

// structuredDetail is one test of the list.
type structuredDetail struct {
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Score   *float64 `json:"score"`
	Weight  *float64 `json:"weight"`
}

func (r *structuredReader) details() {
	var items []json.RawMessage
	r.field("details", &items)
	for i, raw := range items {
		var d *structuredDetail
		if json.Unmarshal(raw, &d) != nil || d == nil || d.Name == "" {
			r.wrong.addf("an entry of details is not a test (the first is number %d)", i+1)
			return
		}
		status, ok := structuredStatus(d.Status)
		if !ok {
			r.wrong.addf("test %s has the unknown status %q", d.Name, d.Status)
		}
		r.tests.put(Test{Name: d.Name, Status: status, Message: d.Message, Score: d.Score, Weight: d.Weight})
	}
}

func structuredStatus(word string) (status Status, ok bool) {
	switch strings.ToUpper(word) {
	case "PASSED":
		return Passed, true
	case "FAILED":
		return Failed, true
	case "SKIPPED":
		return Skipped, true
	case "ERROR":
		return Errored, true
	}
	return Errored, false
}
