package parser

import (
	"encoding/json"
	"slices"
	"strings"
)

// jestDocument is the part of the document of jest --json that is read here.
type jestDocument struct {
	Total   *int `json:"numTotalTests"`
	Passed  int  `json:"numPassedTests"`
	Failed  int  `json:"numFailedTests"`
	Pending int  `json:"numPendingTests"`
	Todo    int  `json:"numTodoTests"`

	Files []jestDocumentFile `json:"testResults"`
}

type jestDocumentFile struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Tests   []struct {
		Outer    []string `json:"ancestorTitles"`
		Title    string   `json:"title"`
		Status   string   `json:"status"`
		Messages []string `json:"failureMessages"`
	} `json:"assertionResults"`
}

func lastJestDocument(output []byte) (last jestDocument, ok bool) {
	ok = lastDocument(output, func(document []byte) bool {
		var doc jestDocument
		if json.Unmarshal(document, &doc) != nil || doc.Total == nil || doc.Files == nil {
			return false
		}
		last = doc
		return true
	})
	return last, ok
}

// document makes a result of the document. Where the text has a summary, the document has
// to agree with it: a test can print a document, but not one that hides its own failure.
func (r *jestReader) document(in Input, doc jestDocument) Result {
	var all numbered
	seen := census{}
	slices.SortStableFunc(doc.Files, func(a, b jestDocumentFile) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range doc.Files {
		if len(file.Tests) == 0 && file.Status == "failed" {
			all.tests.add(file.Name, Errored, stripANSI(file.Message))
			r.wrong.addf("%s could not be run", file.Name)
		}
		for _, test := range file.Tests {
			status, word := jestStatus(test.Status)
			seen["total"]++
			seen[word]++
			path := append(slices.Clone(test.Outer), test.Title)
			all.add(strings.Join(path, " > "), status, stripANSI(strings.Join(test.Messages, "\n")))
		}
	}
	claims := census{"total": *doc.Total, "passed": doc.Passed, "failed": doc.Failed, "skipped": doc.Pending, "todo": doc.Todo}
	seen.disagreement(claims, jestWords, &r.wrong)
	if r.claims != nil {
		seen.disagreement(r.claims, jestWords, &r.wrong)
	}
	return all.tests.result(in, true, r.wrong)
}

// jestStatus translates a status of the document; word is the one of the summary.
func jestStatus(status string) (s Status, word string) {
	switch status {
	case "passed":
		return Passed, "passed"
	case "failed":
		return Failed, "failed"
	case "pending", "skipped", "disabled":
		return Skipped, "skipped"
	case "todo":
		return Skipped, "todo"
	}
	return Errored, "unknown"
}
