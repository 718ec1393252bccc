//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/task"
)

// bad is good in all but what is done to it.
func bad(name, want string, spoil func(*planted)) *planted {
	p := good(name)
	p.want = want
	spoil(p)
	return p
}

// rejections are bad pull requests, each with the stage and the reason that it ends with. Few of
// them are built and tested: invalid has more of those.
func rejections() []*planted {
	return []*planted{
		bad("passes", "validation passes_before", func(p *planted) {
			p.after["tests/test_count.py"] = "import count\n\n\ndef test_one_more():\n    assert count.letters('ab') == count.letters('a') + 1\n"
		}),
		bad("docs", "filter docs_only", func(p *planted) {
			p.after = map[string]string{"README.md": "Counts letters.\n\nSpaces are no letters.\nNothing has none.\n", "docs/use.md": "Call it.\n"}
		}),
		bad("copied", "filter vendored", func(p *planted) {
			p.after["vendor/words/words.py"] = strings.Repeat("A = 1\n", 60)
		}),
		bad("robot", "filter bot", func(p *planted) {
			p.change = func(g *github.Pull) { g.Author, g.AuthorType = "fixer[bot]", "Bot" }
		}),
		bad("branch", "source bot", func(p *planted) {
			p.change = func(g *github.Pull) { g.HeadRef = "renovate/pytest-9.x" }
		}),
		bad("copyleft", "filter license", func(p *planted) {
			p.change = func(g *github.Pull) { g.Repository.License = "AGPL-3.0" }
		}),
		bad("behind", "extract foreign_commits", behind),
		bad("fixture", "extract binary_fixture", func(p *planted) {
			p.after["tests/sample.bin"] = "\x00\x01letters\x00"
		}),
		bad("submodule", "extract submodule", submodule),
	}
}

// rejection is one of them.
func rejection(name string) *planted {
	all := rejections()
	return all[slices.IndexFunc(all, func(p *planted) bool { return p.name == name })]
}

// invalid are bad pull requests that only their tests, or a model that reads them, tell from good
// ones: each takes an image and a dozen containers.
func invalid() []*planted {
	return []*planted{
		bad("lottery", "validation flaky", lottery),
		bad("greps", "validation tests_grep_source", func(p *planted) {
			p.after["tests/test_count.py"] = "import pathlib\n\n\ndef test_begins_at_zero():\n    text = pathlib.Path(__file__).parent.with_name('count.py').read_text()\n    assert 'n = 0' in text\n"
		}),
		bad("unnamed", "feasibility statement_incomplete", func(p *planted) {
			p.after["count.py"] += "\n\ndef tally_words(text):\n    return len(text.split())\n"
			p.after["tests/test_count.py"] += "\n\ndef test_words_are_counted():\n    assert count.tally_words('a b') == 2\n"
		}),
		bad("endings", "validation passes_before", func(p *planted) {
			p.after["count.py"] = withCRLF(p.before["count.py"])
			p.after["tests/test_count.py"] = "import count\n\n\ndef test_two_are_more():\n    assert count.letters('ab') > count.letters('')\n"
		}),
		bad("returns", "validation uncovered", func(p *planted) { // its test sees that nothing but the ends of lines is another
			p.after["count.py"] = withCRLF(p.before["count.py"])
			p.after["tests/test_count.py"] = "import pathlib\n\n\ndef test_lines_end():\n    text = pathlib.Path(__file__).parent.with_name('count.py').read_bytes()\n    assert text.count(b'\\r\\n') == text.count(b'\\n')\n"
		}),
	}
}

// lottery has tests of which another one passes each time: one of five hundred, so that none
// has the same luck twice. They fail whatever the fix does.
func lottery(p *planted) {
	p.test = "python3 -m pytest -v --tb=no -p no:cacheprovider"
	p.after["tests/test_count.py"] = "import random\n\nimport pytest\n\nimport count\n\nDRAWN = random.randrange(500)\n\n\n@pytest.mark.parametrize('number', range(500))\ndef test_number(number):\n    assert count.letters('x' * DRAWN) == number\n"
}

// behind merges the branch of somebody else into that of the pull request, which becomes the
// main one: between the merge and its first parent lies what the other one did.
func behind(p *planted) {
	p.onTop = func(q *fakeForge, dir string) {
		q.git(dir, "add", "-A")
		q.git(dir, "commit", "-q", "-m", "the work itself")
		q.git(dir, "checkout", "-q", "-b", "others", "HEAD~1")
		q.lay(dir, map[string]string{"other.py": "A = 1\nB = 2\nC = 3\n"})
		q.git(dir, "add", "-A")
		q.git(dir, "commit", "-q", "-m", "somebody else's")
		q.git(dir, "checkout", "-q", "main")
		q.git(dir, "merge", "-q", "--no-ff", "--no-commit", "others")
	}
	p.change = func(g *github.Pull) {
		g.Files = slices.DeleteFunc(g.Files, func(f github.File) bool { return f.Name == "other.py" })
		g.ChangedFiles = len(g.Files)
	}
}

// submodule makes another repository part of this one.
func submodule(p *planted) {
	p.after[".gitmodules"] = "[submodule \"words\"]\n\tpath = words\n\turl = https://example.com/words\n"
	p.onTop = func(q *fakeForge, dir string) {
		if err := os.Mkdir(filepath.Join(dir, "words"), 0o755); err != nil {
			q.Fatal(err)
		}
		q.git(dir, "update-index", "--add", "--cacheinfo", "160000,"+q.git(dir, "rev-parse", "HEAD")+",words")
	}
}

// withCRLF is a text whose lines end as on Windows.
func withCRLF(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// onWindows is a good pull request whose files have such lines before and after.
func onWindows(name string) *planted {
	p := good(name)
	for _, files := range []map[string]string{p.before, p.after} {
		for file, text := range files {
			files[file] = withCRLF(text)
		}
	}
	return p
}

// prRecord is a record of what became of a pull request.
type prRecord struct {
	Type    string
	Repo    string
	Number  int
	Verdict string
	Stage   string
	Reason  string
	Detail  string
	Task    string
	Usage   gateway.Usage
	CostUSD float64 `json:"cost_usd"`
}

// lastWords is the record of the end of a mining spec.
type lastWords struct {
	Type  string
	Cause string
	mining.Progress
}

// miningRecords reads the records of the spec: those about pull requests, and the last one.
func (q *fakeForge) miningRecords(path string) (prs map[string][]prRecord, last lastWords) {
	q.Helper()
	var text []byte
	q.until("the records are all in their file", func() (err error) { // which follows the database
		if text, err = os.ReadFile(path); err == nil && !bytes.Contains(text[bytes.LastIndexByte(bytes.TrimSpace(text), '\n')+1:], []byte(`"mining.finished"`)) {
			err = errors.New("the last record is of another kind")
		}
		return err
	})
	prs = map[string][]prRecord{}
	for line := range bytes.Lines(text) {
		var r prRecord
		last = lastWords{}
		if err := errors.Join(json.Unmarshal(line, &r), json.Unmarshal(line, &last)); err != nil {
			q.Fatalf("%v in %s", err, line)
		}
		if r.Type == "pr" {
			ref := github.Ref{Repo: r.Repo, Number: r.Number}
			prs[ref.String()] = append(prs[ref.String()], r)
		}
		if r.Type == "mining.progress" || r.Type == "mining.finished" {
			q.costsOfEach(last.Progress)
		}
	}
	return prs, last
}

// costsOfEach checks what a record tells of the costs of each task.
func (q *fakeForge) costsOfEach(p mining.Progress) {
	q.Helper()
	if n := float64(p.Accepted); n > 0 && (p.USDPerTask != p.CostUSD/n || p.TokensPerTask != float64(p.Usage.Tokens())/n) || n == 0 && p.USDPerTask+p.TokensPerTask != 0 {
		q.Errorf("for each of %v tasks: %+v", n, p)
	}
}

// eachHasOneRecord checks what is told of each pull request, and adds up what was paid for them.
func (q *fakeForge) eachHasOneRecord(prs map[string][]prRecord) (paid gateway.Usage) {
	q.Helper()
	for _, p := range q.pulls {
		all := prs[p.ref().String()]
		if len(all) != 1 {
			q.Errorf("%s has %d records: %+v", p.name, len(all), all)
			continue
		}
		r := all[0]
		paid.Add(r.Usage)
		want := prRecord{Verdict: mining.Rejected, Stage: mining.StageExport, Task: p.task()}
		if p.want == "" {
			want.Verdict = mining.Accepted
		} else {
			want.Task = ""
			want.Stage, want.Reason, _ = strings.Cut(p.want, " ")
		}
		if r.Verdict != want.Verdict || r.Stage != want.Stage || r.Reason != want.Reason || r.Task != want.Task {
			q.Errorf("%s is %s at %s: %q %s (task %q), not %+v", p.name, r.Verdict, r.Stage, r.Reason, r.Detail, r.Task, want)
		}
		if (r.Reason == "") != (r.Detail == "") {
			q.Errorf("%s: reason %q, in words %q", p.name, r.Reason, r.Detail)
		}
	}
	if len(prs) != len(q.pulls) {
		q.Errorf("there are records of %d pull requests, not %d", len(prs), len(q.pulls))
	}
	return paid
}

// countersAddUp checks that every pull request is counted once at each stage that it came to.
func (q *fakeForge) countersAddUp(p mining.Progress, prs map[string][]prRecord) {
	q.Helper()
	type count struct{ Entered, Passed, Rejected, Failed, Open int }
	want, got := map[string]count{}, map[string]count{}
	left := len(q.pulls)
	for _, stage := range mining.Stages() {
		c := count{Entered: left}
		for _, of := range prs {
			if r := of[0]; r.Stage == stage && r.Verdict == mining.Rejected {
				c.Rejected++
			} else if r.Stage == stage && r.Verdict == mining.Failed {
				c.Failed++
			}
		}
		c.Passed = c.Entered - c.Rejected - c.Failed
		left = c.Passed
		want[stage] = c
	}
	for _, s := range p.Stages {
		got[s.Stage] = count{s.Entered, s.Passed, s.Rejected, s.Failed, s.Open}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(p.Stages) != len(want) {
		q.Errorf("stages: %s", diff)
	}
	if left != p.Accepted || p.Seen != len(q.pulls) || p.Open != 0 || p.Accepted+p.Rejected+p.Failed != p.Seen {
		q.Errorf("%d passed all stages: %+v", left, p)
	}
}

// isTold checks what a spec says that it has paid against what the model has told.
func (q *fakeForge) isTold(p mining.Progress, paid gateway.Usage) {
	q.Helper()
	told := q.model.Usage()
	cost := float64(told.Prompt())*10/1e6 + float64(told.Output)*100/1e6
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	for what, u := range map[string]gateway.Usage{"the spec": p.Usage, "all pull requests": paid} {
		if u.InputTokens != int64(told.Prompt()) || u.OutputTokens != int64(told.Output) || !near(u.CostUSD, cost) {
			q.Errorf("%s: %+v, told %+v, %f USD", what, u, told, cost)
		}
	}
	n := float64(p.Accepted)
	if !near(p.USDPerTask, cost/n) || !near(p.TokensPerTask, float64(told.Prompt()+told.Output)/n) || !near(p.CostUSD, cost) {
		q.Errorf("a task takes %f tokens, %f USD; told %+v, %f USD for %d", p.TokensPerTask, p.USDPerTask, told, cost, p.Accepted)
	}
}

// minedTask is a task as the state has it.
func (q *fakeForge) minedTask(name string) (t task.Task) {
	q.Helper()
	s, err := store.Open(q.Context(), q.state, store.Options{ReadOnly: true})
	if err != nil {
		q.Fatal(err)
	}
	err = s.View(q.Context(), func(tx *store.Tx) error {
		rows, err := tx.Mined(q.address())
		for _, row := range rows {
			if row.Task == name {
				return json.Unmarshal(row.Data, &t)
			}
		}
		return errors.Join(err, fmt.Errorf("there is no task %s", name))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		q.Fatal(err)
	}
	return t
}

// byteExact checks that both patches of a task are as Git writes them.
func (q *fakeForge) byteExact(p *planted) {
	q.Helper()
	t := q.minedTask(p.task())
	for pathspec, patch := range map[string][]byte{":!tests": t.Solution.Patch, "tests": t.Judge.Patch} {
		want := q.git(filepath.Join(q.forge, "acme", p.name), "diff", "--binary", "--full-index", p.pull.Parents[0], p.pull.MergeSHA, "--", pathspec)
		if diff := cmp.Diff(want, strings.TrimSpace(string(patch))); diff != "" || !bytes.Contains(patch, []byte("\r\n")) {
			q.Errorf("%s: the patch of %s is another: %s", p.name, pathspec, diff)
		}
	}
}

// keepsUpstream checks that a task has the tests of its pull request as they were merged, and
// behind them those that a model wrote; and that both decide.
func (q *fakeForge) keepsUpstream(p *planted) {
	q.Helper()
	t := q.minedTask(p.task())
	upstream := q.git(filepath.Join(q.forge, "acme", p.name), "diff", "--binary", "--full-index", p.pull.Parents[0], p.pull.MergeSHA, "--", "tests")
	written, ok := strings.CutPrefix(string(t.Judge.Patch), upstream+"\n")
	if !ok || !strings.HasPrefix(written, "diff --git a/tests/test_made.py") {
		q.Errorf("%s: the tests are\n%s", p.name, t.Judge.Patch)
	}
	if diff := cmp.Diff([]string{"tests/test_count.py::test_two_words", "tests/test_made.py::test_free_of_spaces"}, t.FailToPass); diff != "" {
		q.Errorf("%s: what fails before: %s", p.name, diff)
	}
}

// over is a run over the tasks of the spec.
func (q *fakeForge) over() string {
	return fmt.Sprintf(`
run "over" {
  tasks    = [mining.%s]
  mode     = "single"
  timeout  = "5m"
  parallel = 4
  agent "oracle" {}
  agent "nop" {}
}
`, q.bench)
}

// solves checks that a run's tasks are those, that the solution solves each, and that doing
// nothing solves none.
func (q *fakeForge) solves(address string, tasks ...string) {
	q.Helper()
	got, want := map[string]string{}, map[string]string{}
	for _, x := range q.settled(address, 10*time.Minute).Trials {
		got[x.Task+" "+x.Agent] += string(x.Status)
	}
	for _, name := range tasks {
		want[name+" oracle"], want[name+" nop"] = "resolved", "unresolved"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		q.Errorf("%s: %s", address, diff)
	}
}

// A bad pull request is refused for what is wrong with it, and a good one becomes a task. That a
// file's lines end in CRLF is nothing bad: what is mined of it is byte for byte what was merged, and
// so the task is sound, in every format.
func TestPlantedPullRequestsAreRejectedForTheRightReason(t *testing.T) {
	t.Parallel()
	windows := onWindows("windows")
	q := rejectsTheBad(t, rejections(), windows)
	q.byteExact(windows)
}

// rejectsTheBad has good and bad pull requests mined, and checks what becomes of each.
func rejectsTheBad(t *testing.T, bad []*planted, good ...*planted) *fakeForge {
	t.Helper()
	q := newFakeForge(t, append(slices.Clone(good), bad...)...)
	q.write("m.hcl", inEachFormat(q.spec("max_tasks = 0", "validation { repeats = 2 }"))+q.over())
	q.serve()
	m := q.mined(15 * time.Minute)
	prs, last := q.miningRecords(m.Results)
	paid := q.eachHasOneRecord(prs)
	q.countersAddUp(last.Progress, prs)
	q.isTold(last.Progress, paid)
	var tasks []string
	for _, p := range good {
		tasks = append(tasks, p.task())
	}
	q.solves("run.over", tasks...)
	q.judgedOut(t, good...)
	for _, p := range good {
		q.solvedAsTheirs(p, filepath.Join(q.specs, "mined", "sweforge", p.task()))
	}
	return q
}
