package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
)

// report is bench.json.
type report struct {
	Time    time.Time       `json:"time"`
	Seconds float64         `json:"seconds"` // that the run took
	Machine machine         `json:"machine"`
	Results []result.Result `json:"results,omitempty"`
	// Compared are two programs instead, measured in turns.
	Compared []compared `json:"compared,omitempty"`
}

// table shows the report as a Markdown table that a terminal shows well, too, and that the
// README can take as it is.
func (r report) table() string {
	if r.Compared != nil {
		return comparison(r.Compared) + "\n" + r.Machine.String() + "\n"
	}
	rows := [][]string{{"what", "ours", "against", "reference", "ratio"}}
	for _, x := range r.Results {
		rows = append(rows, []string{x.What, result.Figure(x.Ours, x.Unit), x.Against, result.Figure(x.Reference, x.Unit), result.Figure(x.Ratio, "")})
	}
	return result.Markdown(rows, "-:-::") + "\n" + r.Machine.String() + "\n"
}

// exceeded is an error that names what is beyond its bound.
func (r report) exceeded() error {
	var errs []error
	for _, x := range r.Results {
		if x.Bound > 0 && x.Ratio > x.Bound {
			errs = append(errs, fmt.Errorf("%s: %s is %s of %s, more than %s",
				x.Name, x.What, result.Figure(x.Ratio, "times"), x.Against, result.Figure(x.Bound, "")))
		}
	}
	return errors.Join(errs...)
}

func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
