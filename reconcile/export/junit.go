package export

import (
	"encoding/xml"
	"io"
	"path"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// junitSuite is the one test suite of a report.
type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     float64    `xml:"time,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr,omitempty"`
	Name    string     `xml:"name,attr"`
	Time    float64    `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a report of the round that counts, for each trial that has one.
func writeJUnit(x *outcomes) error {
	for _, o := range x.trials {
		if o.best == nil {
			continue
		}
		err := x.tree.file(path.Join(x.dir, o.name+".xml"), func(w io.Writer) error {
			if _, err := io.WriteString(w, xml.Header); err != nil {
				return err
			}
			enc := xml.NewEncoder(w)
			enc.Indent("", "  ")
			if err := enc.Encode(junitOf(o)); err != nil {
				return err
			}
			_, err := io.WriteString(w, "\n")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// junitOf is the report of the round that counts. What stands before the last :: of a name is
// its class, as our own parser puts them together.
func junitOf(o outcome) junitSuites {
	began, _ := o.judging()
	s := junitSuite{Name: o.Cell.Task.Name, Time: seconds(o.best.Report.JudgeMS), Timestamp: began.Format(time.RFC3339)}
	for _, t := range o.tests() {
		c := junitCase{Name: t.Name}
		if at := strings.LastIndex(t.Name, "::"); at >= 0 {
			c.Class, c.Name = t.Name[:at], t.Name[at+len("::"):]
		}
		if t.DurationMS != nil {
			c.Time = seconds(*t.DurationMS)
		}
		first, _, _ := strings.Cut(t.Message, "\n")
		said := &junitText{Message: first, Text: t.Message}
		switch s.Tests++; t.Status {
		case parser.Failed:
			s.Failures++
			c.Failure = said
		case parser.Errored:
			s.Errors++
			c.Error = said
		case parser.Skipped:
			s.Skipped++
			c.Skipped = said
		case parser.Passed:
		}
		s.Cases = append(s.Cases, c)
	}
	return junitSuites{
		Name: o.ID, Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Skipped: s.Skipped, Time: s.Time, Suite: s,
	}
}
