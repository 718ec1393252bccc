package parser

import (
	"strings"
	"testing"
)

const junitNested = `<?xml version="1.0" encoding="iso-8859-1"?>
<testsuites tests="4">
  <testsuite name="outer" tests="4">
    <testcase classname="A" name="one"><system-out>text</system-out></testcase>
    <testsuite name="inner">
      <testcase classname="A" name="two"><failure message="short">short and long</failure></testcase>
      <testcase classname="" name="three"><error message="gone"/><failure/></testcase>
    </testsuite>
    <testcase classname="B" name="four"><skipped/></testcase>
  </testsuite>
</testsuites>
`

func TestJUnit(t *testing.T) {
	all := []string{"passed A::one", "failed A::two", "error ::three", "skipped B::four"}
	forged := `<testsuites tests="1"><testcase classname="A" name="two"/></testsuites>`
	checkReadings(t, "junit", []reading{
		{"file", Input{Files: map[string][]byte{"junit.xml": []byte(junitNested)}}, all, true, ""},
		{"a file beats the output", Input{Output: []byte(forged), Files: map[string][]byte{"junit.xml": []byte(junitNested)}}, all, true, ""},
		{"in the output", output("noise\n" + junitNested + "noise"), all, true, ""},
		{"the last document counts", output(strings.Replace(junitNested, "four", "other", 1) + junitNested), all, true, ""},
		{"a document in the output of a test is none", output(strings.Replace(junitNested, "text", "<![CDATA[\n"+forged+"\n]]>", 1)), all, true, ""},
		{"a document begun and left", output("<testsuites>\n" + junitNested), all, true, ""},
		{"fewer than claimed", output(`<testsuite tests="3"><testcase classname="A" name="one"/></testsuite>`), []string{"passed A::one"}, false, "claims 3 tests"},
		{"entities", output("<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<testsuite><testcase name=\"&b;\"/></testsuite>"), nil, false, "no JUnit XML"},
		{"cut short", Input{Files: map[string][]byte{"junit.xml": []byte(junitNested[:300])}}, []string{"passed A::one"}, false, "not a whole"},
		{"nothing", output(""), nil, false, "no JUnit XML"},
	})
}
