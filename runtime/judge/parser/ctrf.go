package parser

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// ctrfFiles are the names under which reporters leave the Common Test Report Format; the
// absolute one is where the verifier of a Harbor task puts it.
func ctrfFiles() []string {
	return []string{"ctrf.json", "ctrf-report.json", "ctrf/ctrf-report.json", "/logs/verifier/ctrf.json"}
}

// ctrfParser reads the Common Test Report Format from files, or the last document of that
// shape in the output if there are none.
//
// Tests have the name that the report gives them. Names that repeat are told apart by
// number, in the order of their suites and files, for that of the report can change.
func ctrfParser() Parser {
	return Parser{
		Name:    "ctrf",
		Protect: []string{"ctrf.json", "ctrf-report.json"},
		Files:   ctrfFiles(),
		Parse:   parseCTRF,
	}
}

func parseCTRF(in Input) Result {
	var all tally
	var wrong problems
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		report, err := readCTRF(in.Files[name])
		if err != nil {
			wrong.addf("%s: %v", name, err)
			continue
		}
		report.addTo(&all, &wrong)
	}
	if len(in.Files) == 0 {
		var last ctrfReport
		ok := lastDocument(in.Output, func(document []byte) bool {
			report, err := readCTRF(document)
			if err == nil {
				last = report
			}
			return err == nil
		})
		if !ok {
			wrong.addf("no CTRF report found")
		}
		last.addTo(&all, &wrong)
	}
	return all.result(in, true, wrong)
}

// ctrfReport is the part of a report that is read here.
type ctrfReport struct {
	Results *struct {
		Summary map[string]json.RawMessage `json:"summary"`
		Tests   []ctrfTest                 `json:"tests"`
	} `json:"results"`
}

type ctrfTest struct {
	Name     string          `json:"name"`
	Status   string          `json:"status"`
	Message  string          `json:"message"`
	FilePath string          `json:"filePath"`
	Suite    json.RawMessage `json:"suite"` // text, or a list of it
}

// readCTRF reads one report. Old ones say neither that they are CTRF nor of what version.
func readCTRF(document []byte) (ctrfReport, error) {
	var report ctrfReport
	if err := json.Unmarshal(document, &report); err != nil {
		return ctrfReport{}, errors.New("not a CTRF report")
	}
	if report.Results == nil || report.Results.Tests == nil && report.Results.Summary == nil {
		return ctrfReport{}, errors.New("not a CTRF report")
	}
	return report, nil
}

func (r ctrfReport) addTo(all *tally, wrong *problems) {
	if r.Results == nil {
		return
	}
	slices.SortStableFunc(r.Results.Tests, func(a, b ctrfTest) int {
		return cmp.Or(cmp.Compare(a.FilePath, b.FilePath), cmp.Compare(string(a.Suite), string(b.Suite)))
	})
	var tests numbered
	seen := census{}
	for _, test := range r.Results.Tests {
		status, ok := ctrfStatus(test.Status)
		if !ok {
			wrong.addf("test %s has the unknown status %q", test.Name, test.Status)
		}
		if cleanName(test.Name) == "" {
			wrong.addf("a test has no name")
		}
		seen["tests"]++
		seen[test.Status]++
		tests.add(test.Name, status, test.Message)
	}
	r.compare(seen, wrong)
	all.merge(&tests.tests)
}

// compare checks the summary, which every report must have.
func (r ctrfReport) compare(seen census, wrong *problems) {
	claims := census{}
	words := []string{"tests", "passed", "failed", "skipped", "pending", "other"}
	for _, word := range words {
		raw, ok := r.Results.Summary[word]
		if !ok {
			continue
		}
		n := -1
		if json.Unmarshal(raw, &n) != nil {
			n = -1
		}
		claims[word] = n
	}
	seen.disagreement(claims, words, wrong)
}

// ctrfStatus translates a status. What is neither passed nor skipped nor failed ("other")
// is an error: it must not make a result look better than it is.
func ctrfStatus(word string) (status Status, ok bool) {
	switch word {
	case "passed":
		return Passed, true
	case "failed":
		return Failed, true
	case "skipped", "pending":
		return Skipped, true
	case "other":
		return Errored, true
	}
	return Errored, false
}
