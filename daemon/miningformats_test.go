//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/trial"
)

// minedFormats are all that a mining spec can write.
func minedFormats() []string { return []string{"sforge", "sweforge", "swebench", "harbor", "parquet"} }

// inEachFormat is a spec of which the tasks are written in every format.
func inEachFormat(spec string) string {
	const plain = `output { dir = "mined" }`
	return strings.Replace(spec, plain, fmt.Sprintf("output {\n    dir     = \"mined\"\n    formats = [\"%s\"]\n  }", strings.Join(minedFormats(), `", "`)), 1)
}

// withoutTests is a good pull request that has no tests, and a model that writes some.
func withoutTests(name string) *planted {
	p := good(name)
	delete(p.after, "tests/test_count.py")
	p.files = map[string]string{
		"tests/test_made.py": "import count\n\n\ndef test_nothing_is_none():\n    assert count.letters('') == 0\n\n\ndef test_spaces_are_none():\n    assert count.letters(' a ') == 1\n\n\ndef test_number():\n    assert isinstance(count.letters('x'), int)\n",
	}
	return p
}

// withFewTests is a good pull request whose test does not need any one part of it, and a model
// that writes another one.
func withFewTests(name string) *planted {
	p := good(name)
	p.title, p.body = "Leave spaces out in "+name, "The letters of a text with spaces in it are too many: a space counts as one, and what is to be free of spaces has them still. Neither is a letter."
	p.before["clean.py"] = "def spaceless(text):\n    return text\n"
	p.before["count.py"] = "import clean\n\n\ndef letters(text):\n    return len(clean.spaceless(text))\n"
	p.after = map[string]string{
		"clean.py":            "def spaceless(text):\n    kept = [c for c in text if c != ' ']\n    return ''.join(kept)\n",
		"count.py":            "import clean\n\n\ndef letters(text):\n    found = clean.spaceless(text)\n    return len(found) - found.count(' ')\n",
		"tests/test_count.py": "import count\n\n\ndef test_two_words():\n    assert count.letters('a b') == 2\n\n\ndef test_one_word():\n    assert count.letters('ab') == 2\n",
	}
	p.beside = map[string]string{
		"tests/test_made.py": "import clean\n\n\ndef test_free_of_spaces():\n    assert clean.spaceless(' a  b') == 'ab'\n\n\ndef test_no_spaces():\n    assert clean.spaceless('ab') == 'ab'\n",
	}
	return p
}

// judgedOut has the benchmarks that the spec has written judged, out of every format: each
// test of each task comes out as it did when the task was proved, with the solution and
// without.
func (q *fakeForge) judgedOut(t *testing.T, goods ...*planted) {
	var spec strings.Builder
	for _, format := range minedFormats() {
		reader := format
		if format == "parquet" {
			reader = "swebench"
		}
		fmt.Fprintf(&spec, `
benchmark "%[1]s-%[2]s" {
  import %[3]q {
    path  = "mined/%[2]s"
    image = %[4]q
  }
}
run "as-%[2]s" {
  tasks        = [benchmark.%[1]s-%[2]s]
  mode         = "single"
  timeout      = "5m"
  sanity_check = false
  parallel     = 2
  agent "oracle" {}
  agent "nop" {}
}
`, q.bench, format, reader, q.image)
	}
	q.write("again.hcl", spec.String())
	want := map[string]map[string]string{}
	for _, p := range goods {
		proved := q.minedTask(p.task())
		want[p.task()+" oracle"] = map[string]string{"": "resolved"}
		want[p.task()+" nop"] = map[string]string{"": "unresolved"}
		for _, name := range proved.FailToPass {
			want[p.task()+" oracle"][name], want[p.task()+" nop"][name] = "was to be mended: true", "was to be mended: false"
		}
		for _, name := range proved.PassToPass {
			want[p.task()+" oracle"][name], want[p.task()+" nop"][name] = "was to stay: true", "was to stay: true"
		}
	}
	for _, format := range minedFormats() {
		t.Run(format, func(t *testing.T) {
			run := q.settled("run.as-"+format, 10*time.Minute)
			if diff := cmp.Diff(want, q.outcomes(run)); diff != "" {
				t.Errorf("it is judged another way than when it was proved: %s", diff)
			}
		})
	}
}

// outcomes are how the trials of a run came out, and each of the tests that their tasks name.
func (q *fakeForge) outcomes(run query.RunStatus) map[string]map[string]string {
	q.Helper()
	text, err := os.ReadFile(run.Results)
	if err != nil {
		q.Fatal(err)
	}
	all := map[string]map[string]string{}
	for line := range bytes.Lines(text) {
		var f struct {
			Type string
			trial.Finished
		}
		if err := json.Unmarshal(line, &f); err != nil {
			q.Fatalf("%v in %s", err, line)
		}
		if f.Type != "trial.finished" {
			continue
		}
		tests := map[string]string{"": string(f.Status)}
		for _, r := range f.FailToPass {
			tests[r.Name] = fmt.Sprintf("was to be mended: %t", r.Passed)
		}
		for _, r := range f.PassToPass {
			tests[r.Name] = fmt.Sprintf("was to stay: %t", r.Passed)
		}
		all[f.Task+" "+f.Agent] = tests
	}
	return all
}
