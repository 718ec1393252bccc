package mining

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// either has upstream's tests pass with either function mended, and those of test_new.py and
// test_alpha_value.py with the first one only. Tests run whose files the command names.
func either(of task.Task, fix []byte) (round.Report, error) {
	status := func(ok bool) parser.Status {
		if ok {
			return parser.Passed
		}
		return parser.Failed
	}
	f, g := bytes.Contains(fix, []byte("b/"+source(1))), bytes.Contains(fix, []byte("b/"+other(1)))
	var all []parser.Test
	for file, ok := range map[string]bool{tests(1): f || g, "tests/test_new.py": f, "tests/test_alpha_value.py": f, "tests/test_same.py": f || g} {
		if strings.Contains(of.Judge.Command.Shell, file) {
			all = append(all, parser.Test{Name: file + "::test_f1", Status: status(ok)})
		}
	}
	if strings.Contains(of.Judge.Command.Shell, tests(1)) && !strings.Contains(of.Judge.Command.Shell, "::test_f1") {
		all = append(all, parser.Test{Name: tests(1) + "::test_base", Status: parser.Passed})
	}
	return report(all...), nil
}

// proposes is an answer that hands in some files, and runs upstream's tests beside them.
func proposes(files ...string) modeltest.Answer {
	return runs("python -m pytest "+tests(1)+" "+strings.Join(files, " "), files...)
}

func runs(command string, files ...string) modeltest.Answer {
	return calling("submit_tests", map[string]any{"install": []string{}, "test_command": command, "files": files})
}

// writesMore has the model of the second pass answer so, and then give up.
func (w *fixture) writesMore(answers ...modeltest.Answer) {
	w.judge = either
	w.odd = func(q question) (modeltest.Answer, bool) {
		n, second := strings.CutPrefix(q.key, "environment/more/")
		if !second {
			return modeltest.Answer{}, false
		}
		if i := int(n[0] - '0'); i < len(answers) {
			return answers[i], true
		}
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "", "impossible": "there is nothing more to test"}), true
	}
}

// Tests of upstream's that no part of the change is needed for are kept, and others are written
// beside them. What is wrong with tests otherwise is not mended.
func TestTestsAreWrittenBesideThoseThatAreTooFew(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}, twice: true})
	const uncovered = "rejected validation uncovered"
	for name, tc := range map[string]struct {
		answers []modeltest.Answer // of the second pass
		change  func(*fixture)
		want    string
		asked   int // of the second pass
		detail  string
	}{
		"and cover a part":     {answers: []modeltest.Answer{proposes("tests/test_new.py")}, want: "accepted easy", asked: 1},
		"which is tried twice": {answers: []modeltest.Answer{proposes("tests/test_same.py"), proposes("tests/test_new.py")}, want: "accepted easy", asked: 2},
		"and cover nothing":    {answers: []modeltest.Answer{proposes("tests/test_same.py")}, want: uncovered, asked: 2, detail: "any one of the 2 hunks"},
		"or are not":           {want: uncovered, asked: 1, detail: "gave_up: there is nothing more to test"},
		"which have to run": {
			answers: []modeltest.Answer{runs("python -m pytest tests/test_new.py", "tests/test_new.py"), proposes("tests/test_new.py")},
			want:    "accepted easy", asked: 2,
		},
		"which have to run whole": {
			answers: []modeltest.Answer{runs("python -m pytest tests/test_f1.py::test_f1 tests/test_new.py", "tests/test_new.py"), proposes("tests/test_new.py")},
			want:    "accepted easy", asked: 2,
		},
		"which stay as they are": {answers: []modeltest.Answer{proposes(tests(1)), proposes("tests/test_new.py")}, want: "accepted easy", asked: 2},
		"but not without turns": {
			answers: []modeltest.Answer{proposes("tests/test_new.py")}, change: func(w *fixture) { w.spec.TestGeneration.MaxTurns = 1 },
			want: uncovered, detail: "turns: 1 turns",
		},
		"with the turns that are left": {
			answers: []modeltest.Answer{proposes("tests/test_same.py"), proposes("tests/test_new.py")},
			change:  func(w *fixture) { w.spec.TestGeneration.MaxTurns = 2 },
			want:    uncovered, asked: 1, detail: "turns: 2 turns",
		},
		"but not without tokens": {
			answers: []modeltest.Answer{proposes("tests/test_new.py")}, change: func(w *fixture) { w.spec.TestGeneration.MaxTokens = 110 },
			want: uncovered, detail: "tokens: 110 of 110",
		},
		"with the tokens that are left": {
			answers: []modeltest.Answer{proposes("tests/test_same.py"), proposes("tests/test_new.py")},
			change:  func(w *fixture) { w.spec.TestGeneration.MaxTokens = 220 },
			want:    uncovered, asked: 1, detail: "tokens: 220 of 220",
		},
		"but not without money": {
			answers: []modeltest.Answer{proposes("tests/test_new.py")},
			change:  func(w *fixture) { w.spec.Budget = &config.Budget{Each: config.Spend{Tokens: 220}} },
			want:    "failed environment budget_per_task",
		},
		"but not for those that pass before": {
			change: func(w *fixture) {
				w.judge = func(of task.Task, _ []byte) (round.Report, error) { return either(of, []byte("b/"+source(1))) }
			},
			want: "rejected validation passes_before",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			w.writesMore(tc.answers...)
			if tc.change != nil {
				tc.change(w)
			}
			w.serve().mine(nothingMore)
			w.verdicts(map[string]string{"acme/shop#1": tc.want})
			if d := w.book.decision(ref(shop, 1)); !strings.Contains(d.Detail, tc.detail) {
				t.Errorf("it is told that %s", d.Detail)
			}
			second := 0
			for q := range w.asked {
				if strings.HasPrefix(q.key, "environment/more/") {
					second++
				}
			}
			if first := w.questions("environment/0"); first != 1 || second != tc.asked || len(w.repeated()) > 0 {
				t.Errorf("%d and %d questions, twice %v", first, second, w.repeated())
			}
			if tc.want == "accepted easy" {
				w.hasBoth()
			}
		})
	}
}

// hasBoth looks at a task whose tests are upstream's and a model's.
func (w *fixture) hasBoth() {
	w.t.Helper()
	k := w.book.decision(ref(shop, 1)).Mined.Task
	upstream := w.git(filepath.Join(w.forge, shop), "", "diff", "--binary", "--full-index", "main~1", "main", "--", "tests")
	written, ok := strings.CutPrefix(string(k.Judge.Patch), upstream)
	if !ok || !strings.HasPrefix(written, "diff --git a/tests/test_new.py") || strings.Count(written, "diff --git") != 1 {
		w.t.Errorf("the tests are\n%s", k.Judge.Patch)
	}
	if diff := cmp.Diff([]string{tests(1) + "::test_f1", "tests/test_new.py::test_f1"}, k.FailToPass); diff != "" {
		w.t.Errorf("what fails before: %s", diff)
	}
	text, err := os.ReadFile(filepath.Join(w.spec.Output.Dir, k.Name, "provenance.json"))
	var from struct {
		Generated bool `json:"generated_tests"`
		Covered   int  `json:"covered_hunks"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &from)); err != nil || !from.Generated || from.Covered != 1 {
		w.t.Errorf("%v: it comes from %s", err, text)
	}
	w.hasFiles(k)
}

// hasFiles looks at what swe-forge's harness has of a task, which applies no patch of tests: the files
// that Git makes with it.
func (w *fixture) hasFiles(k task.Task) {
	w.t.Helper()
	dir := w.t.TempDir()
	w.git(dir, "", "clone", "--quiet", filepath.Join(w.forge, shop), ".")
	w.git(dir, "", "checkout", "--quiet", k.Repo.Commit)
	w.git(dir, string(k.Judge.Patch), "apply", "-")
	made := map[string]string{}
	for _, name := range []string{tests(1), "tests/test_new.py"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		made[name] = string(text)
	}
	want := map[string]string{
		"meta.test_files": sweforge.TestFiles(made), "meta.pr_title": title(shop, 1), "meta.added_lines": "8", "meta.removed_lines": "1", "meta.files_changed": "3",
		"original_pr_body": "acme/shop (#1): " + title(shop, 1) + "\n\nIt is always zero.",
	}
	read := sweforge.Read(w.spec.Output.Dir, task.ReadOptions{})
	if len(read.Tasks) != 1 {
		w.t.Fatalf("%+v", read)
	}
	for what, metadata := range map[string]map[string]string{"kept": k.Metadata, "written": read.Tasks[0].Metadata} {
		for name, text := range want {
			if what == "kept" && name == sweforge.TestFilesKey {
				text = "" // judge.patch makes them
			}
			if metadata[name] != text {
				w.t.Errorf("%s as %s is %q, want %q", name, what, metadata[name], text)
			}
		}
	}
}

// What written tests need is named, beside what upstream's do.
func TestWhatIsWrittenBesideOthersIsFeasible(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, twice: true})
	w.writesMore(proposes("tests/test_alpha_value.py"))
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if text := w.book.decision(ref(shop, 1)).Mined.Task.Instruction; strings.Count(text, "`alpha_value`") != 1 || strings.Count(text, "## Interface") != 1 {
		t.Errorf("the statement is\n%s", text)
	}
}

// Where the change does nothing, no test covers a part of it, and nobody pays for one.
func TestNoTestsAreWrittenForWhatDoesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, idle: true})
	w.writesMore(proposes("tests/test_new.py"))
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "rejected validation uncovered"})
	if n := w.questions("environment/more/0"); n > 0 {
		t.Errorf("it was asked for %d tests", n)
	}
}

// A miner that is killed between both passes goes on with the second, with what the first one has
// left of the bounds. What was found out by the first is not found out again: the next time, the
// tests may come out otherwise.
func TestALifeMayEndBetweenBothPasses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, twice: true})
	w.writesMore(proposes("tests/test_same.py"), proposes("tests/test_new.py"), proposes("tests/test_new.py"))
	w.spec.TestGeneration.MaxTurns = 2
	w.book.after = func(x write) error {
		if strings.HasPrefix(x.key, "few/") {
			return errors.New("it is killed")
		}
		return nil
	}
	w.serve()
	if cause, err := w.run(t.Context()); err == nil || w.questions("environment/0") != 1 || w.questions("environment/more/0") != 0 {
		t.Fatalf("it ended with %q, %v", cause, err)
	}
	w.book.after, w.broken = nil, true
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if !bytes.Contains(of.Judge.Patch, []byte("test_same")) {
			t.Error("upstream's tests are proved alone again")
		}
		return either(of, fix)
	}
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "rejected validation uncovered"})
	if all := w.repeated(); len(all) > 0 || w.questions("environment/more/0") != 1 || w.questions("environment/more/1") != 0 {
		t.Errorf("asked again: %v", all)
	}
}

// A life may end at each write of one that has tests written beside upstream's, too.
func TestALifeWithBothPassesMayEndAtEachWrite(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}, twice: true})
	endsAnywhere(t, map[string]string{"acme/shop#1": "accepted easy"}, func(t *testing.T) *fixture {
		w := shared.again(t)
		w.writesMore(proposes("tests/test_same.py"), proposes("tests/test_new.py"))
		return w.serve()
	})
}
