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

// TestJUnitOfOthers holds documents as Surefire, CTest and GoogleTest write them.
func TestJUnitOfOthers(t *testing.T) {
	surefire := `<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="org.x.FooTest" time="0.05" tests="3" errors="1" skipped="1" failures="0">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="adds" classname="org.x.FooTest" time="0.01"/>
  <testcase name="ignores" classname="org.x.FooTest" time="0"><skipped message="later"/></testcase>
  <testcase name="throws{int}[1]" classname="org.x.FooTest$Inner" time="0"><error message="boom" type="E"><![CDATA[E: boom]]></error></testcase>
</testsuite>
`
	ctest := `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="3" failures="1" disabled="1" skipped="0" hostname="" time="0">
	<testcase name="parses" classname="parses" time="0.002" status="run"><system-out>ok</system-out></testcase>
	<testcase name="prints" classname="prints" time="0.002" status="fail"><failure message=""/><system-out/></testcase>
	<testcase name="sleeps" classname="sleeps" time="0" status="disabled"/>
</testsuite>
`
	googletest := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" disabled="1" errors="0" time="0." name="AllTests">
  <testsuite name="Inst/Sum" tests="3" failures="1" disabled="1" skipped="0" errors="0">
    <testcase name="Adds/0" file="a.cc" line="3" status="run" result="completed" time="0." classname="Inst/Sum"/>
    <testcase name="Subtracts/0" status="run" result="completed" classname="Inst/Sum"><failure message="a.cc:9&#x0A;Expected" type=""><![CDATA[a.cc:9
Expected]]></failure></testcase>
    <testcase name="DISABLED_Divides/0" status="notrun" result="suppressed" classname="Inst/Sum"/>
  </testsuite>
</testsuites>
`
	checkReadings(t, "junit", []reading{
		{"surefire", Input{Files: map[string][]byte{
			"target/surefire-reports/TEST-org.x.FooTest.xml": []byte(surefire), "target/surefire-reports/org.x.FooTest.txt": []byte("Tests run: 3"),
		}}, []string{"passed org.x.FooTest::adds", "skipped org.x.FooTest::ignores", "error org.x.FooTest$Inner::throws{int}[1]"}, true, ""},
		{"ctest", Input{Files: map[string][]byte{"junit.xml": []byte(ctest)}}, []string{"passed parses::parses", "failed prints::prints", "skipped sleeps::sleeps"}, true, ""},
		{"googletest", Input{Files: map[string][]byte{"report.xml": []byte(googletest)}}, []string{"passed Inst/Sum::Adds/0", "failed Inst/Sum::Subtracts/0", "skipped Inst/Sum::DISABLED_Divides/0"}, true, ""},
	})
}

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
