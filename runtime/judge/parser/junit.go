package parser

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// junitFiles are the names under which runners leave JUnit XML by convention, the last of
// them folders (of Surefire, Failsafe and Gradle). They are protected too, so that a report that was submitted never passes for one that was made.
func junitFiles() []string {
	return []string{
		"junit.xml", "junit-report.xml", "junit-results.xml", "test-report.xml",
		"test-results.xml", "report.xml", "results.xml",
		"test-results/junit.xml", "test-results/results.xml", "reports/junit.xml",
		"target/surefire-reports", "target/failsafe-reports", "build/test-results/test",
	}
}

// junitParser reads JUnit XML from files, or from the output if there are none.
func junitParser() Parser {
	return Parser{Name: "junit", Protect: junitFiles(), Files: junitFiles(), Parse: parseJUnit}
}

func parseJUnit(in Input) Result {
	var t tally
	var wrong problems
	files := maps.Clone(in.Files)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return path.Ext(name) != ".xml" }) // the same as text, and so on
	if len(files) == 0 {
		doc, ok := lastJUnit(printable(string(in.Output), "\n\t\r"))
		if !ok {
			wrong.addf("no JUnit XML found")
			return t.result(in, false, wrong)
		}
		doc.addTo(&t, "output", &wrong)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		doc, err := readJUnit(printable(string(files[name]), "\n\t\r"))
		if err != nil {
			wrong.addf("%s: %v", name, err)
		}
		doc.addTo(&t, name, &wrong)
	}
	return t.result(in, true, wrong)
}

// lastJUnit finds the last whole document that begins at the start of a line. Documents
// are read from the front, so that one in the quoted output of a test is none.
func lastJUnit(output string) (last junitDocument, ok bool) {
	const attempts = 16 // documents cut short, each of which costs a reading to the end
	begin := regexp.MustCompile(`(?m)^(?:<\?xml\s|<testsuites?[\s>])`)
	for failed := 0; failed < attempts; {
		at := begin.FindStringIndex(output)
		if at == nil {
			break
		}
		output = output[at[0]:]
		doc, err := readJUnit(output)
		if err != nil {
			failed++
			output = output[1:]
			continue
		}
		last, ok = doc, true
		output = output[doc.size:]
	}
	return last, ok
}

// junitDocument is what one file holds.
type junitDocument struct {
	tests   []Test
	claimed int // tests the document says it has; -1 = it does not say
	size    int64
}

func (d junitDocument) addTo(t *tally, where string, wrong *problems) {
	for _, test := range d.tests {
		t.put(test)
	}
	if d.claimed >= 0 && d.claimed != len(d.tests) {
		wrong.addf("%s: claims %d tests, has %d", where, d.claimed, len(d.tests))
	}
}

// junitReader walks over the elements of a document.
type junitReader struct {
	doc   junitDocument
	depth int             // of suites
	whole bool            // the root said how many tests there are
	test  *Test           // the test case we are in
	state Status          // of the result element we are in; "" = in none
	label string          // its message attribute
	text  strings.Builder // its content
}

// readJUnit reads one document and stops behind its root. Entities a document defines are
// not known here, so none is ever expanded.
func readJUnit(data string) (junitDocument, error) {
	dec := xml.NewDecoder(strings.NewReader(data))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	r := junitReader{doc: junitDocument{claimed: -1}}
	level := 0
	for {
		token, err := dec.Token()
		if err != nil {
			return r.doc, errors.New("not a whole JUnit document")
		}
		switch e := token.(type) {
		case xml.StartElement:
			if level == 0 && e.Name.Local != "testsuites" && e.Name.Local != "testsuite" {
				return r.doc, errors.New("not a JUnit document")
			}
			level++
			r.start(e)
		case xml.CharData:
			if r.state != "" && r.text.Len() < maxMessage {
				r.text.Write(e[:min(len(e), maxMessage)])
			}
		case xml.EndElement:
			level--
			r.end(e.Name.Local)
			if level == 0 {
				r.doc.size = dec.InputOffset()
				return r.doc, nil
			}
		}
	}
}

func (r *junitReader) start(e xml.StartElement) {
	switch e.Name.Local {
	case "testsuites":
		r.whole = r.claim(e)
	case "testsuite":
		if r.depth == 0 && !r.whole {
			r.claim(e)
		}
		r.depth++
	case "testcase":
		r.test = &Test{Name: attribute(e, "name"), Status: junitStatus(attribute(e, "status"))}
		if class, ok := lookup(e, "classname"); ok {
			r.test.Name = class + "::" + r.test.Name
		}
	case "failure":
		r.outcome(e, Failed)
	case "error":
		r.outcome(e, Errored)
	case "skipped":
		r.outcome(e, Skipped)
	}
}

// junitStatus reads what CTest and GoogleTest say of a test case that holds nothing more.
func junitStatus(status string) Status {
	switch status {
	case "notrun", "disabled":
		return Skipped
	case "fail":
		return Failed
	}
	return Passed
}

// claim adds up how many tests the document says it has, if it does.
func (r *junitReader) claim(e xml.StartElement) bool {
	n, err := strconv.Atoi(attribute(e, "tests"))
	if err == nil {
		r.doc.claimed = max(r.doc.claimed, 0) + n
	}
	return err == nil
}

// outcome begins an element that says how a test case ended.
func (r *junitReader) outcome(e xml.StartElement, status Status) {
	if r.test == nil || r.state != "" {
		return
	}
	r.state, r.label = status, attribute(e, "message")
	r.text.Reset()
}

func (r *junitReader) end(element string) {
	switch element {
	case "testsuite":
		r.depth--
	case "testcase":
		if r.test != nil {
			r.doc.tests = append(r.doc.tests, *r.test)
		}
		r.test = nil
	case "failure", "error", "skipped":
		if r.test != nil && severity(r.state) > severity(r.test.Status) {
			r.test.Status, r.test.Message = r.state, joinNonEmpty(r.label, r.text.String())
		}
		r.state = ""
	}
}

// joinNonEmpty puts a message attribute before the text, unless the text begins with it.
func joinNonEmpty(label, text string) string {
	text = strings.TrimSpace(text)
	if label == "" || strings.HasPrefix(text, label) {
		return text
	}
	return label + "\n" + text
}

func attribute(e xml.StartElement, name string) string {
	value, _ := lookup(e, name)
	return value
}

func lookup(e xml.StartElement, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}
