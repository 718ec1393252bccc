package proof

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

const calc = `# a calculator
import math


def add(a, b):
    return a - b


def unused(a):
    a = a + 1
    a = a + 2
    a = a + 3
    return a


def double(a):
    return add(a, a)
`

func base() files {
	return files{"calc.py": calc, "README.md": "A calculator.\n", "other.py": "def other():\n    return 1\n"}
}

// adds is what the fix of most cases is for.
func adds(f files) bool { return f.does("calc.py", "return a + b") }

// newTest is a patch of tests with the lines.
func newTest(lines ...string) []byte {
	text := "+" + strings.Join(lines, "\n+") + "\n"
	return []byte("diff --git a/tests/test_calc.py b/tests/test_calc.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/test_calc.py\n@@ -0,0 +1," +
		string(rune('0'+len(lines))) + " @@\n" + text)
}

// scene is a case in a world.
type scene struct {
	world *world
	fixed files
	tests []byte // "" = some that read nothing
	c     Case
}

func (s scene) prove(t *testing.T) (Proof, error) {
	t.Helper()
	s.c.Task.Name = "acme-calc-12"
	s.c.Task.Judge.Patch = s.tests
	if s.tests == nil {
		s.c.Task.Judge.Patch = newTest("from calc import add", "def test_add(): assert add(1, 2) == 3")
	}
	s.c.Task.FailToPass = []string{"of nobody"}
	if s.c.Fix == nil {
		s.c.Fix = difference(t, s.world.base, s.fixed)
	}
	p, err := Prove(t.Context(), s.c, s.world.run(t))
	if s.world.most > atOnce {
		t.Errorf("%d judgings at once", s.world.most)
	}
	if err == nil && p.Runs != s.world.runs {
		t.Errorf("%d runs are told, there were %d", p.Runs, s.world.runs)
	}
	return p, err
}

const (
	testAdd    = "tests/test_calc.py::test_add"
	testOther  = "tests/test_calc.py::test_other"
	testSkip   = "tests/test_calc.py::test_skip"
	testBroken = "tests/test_calc.py::test_broken"
	testLuck   = "tests/test_calc.py::test_luck"
)

// usual are a test that the fix makes pass, and others.
func usual() map[string]func(files) parser.Status {
	return map[string]func(files) parser.Status{
		testAdd: when(adds), testOther: always(parser.Passed), testSkip: always(parser.Skipped), testBroken: always(parser.Failed),
	}
}

func fixed(t *testing.T) files { return base().edited(t, "calc.py", "a - b", "a + b") }

func TestASoundTaskIsProved(t *testing.T) {
	after := fixed(t).edited(t, "calc.py", "    a = a + 1\n", "    a = a + 1  # one\n    a = a + 0\n", "# a calculator", "# The calculator")
	after["README.md"] = "The calculator.\n"
	after["CHANGELOG"] = "It adds.\n"
	got, err := scene{world: &world{base: base(), tests: usual()}, fixed: after}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	want := Proof{
		FailToPass: []string{testAdd}, PassToPass: []string{testOther}, Flaky: []string{}, Textual: []string{}, Missing: []string{},
		Hunks: 1, Covered: 1, Uncovered: []string{}, Runs: got.Runs, Seconds: 1.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Runs != 6+1+2 {
		t.Errorf("%d runs", got.Runs)
	}
}

func TestHunksThatNoTestNeedsAreTold(t *testing.T) {
	far := strings.Repeat("\n# far away\n\n\n", 5)
	from := base()
	from["calc.py"] += far + "def more():\n    return 2\n" + far + "def last():\n    return 3\n"
	after := from.edited(t, "calc.py", "a - b", "a + b", "return 2", "return 4", "return 3", "return 9")
	w := &world{base: from, tests: usual()}
	w.tests["tests/test_calc.py::test_last"] = when(func(f files) bool { return f.does("calc.py", "return 9") })
	after["other.py"] = "def other():\n    return 2\n"
	got, err := scene{world: w, fixed: after}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"calc.py:39", "other.py:2"}, got.Uncovered); diff != "" || got.Hunks != 4 || got.Covered != 2 {
		t.Errorf("%d of %d, %s", got.Covered, got.Hunks, diff)
	}
}

func TestFlakyTestsAreListedAndLeftOut(t *testing.T) {
	w := &world{base: base(), tests: usual()}
	w.tests[testLuck] = always(parser.Passed)
	w.twist = func(r *judge.Report, _ files, of string, n int) {
		if of == "" && n == 2 {
			set(r, testLuck, parser.Errored)
		}
	}
	got, err := scene{world: w, fixed: fixed(t)}.prove(t)
	if diff := cmp.Diff([]string{testLuck}, got.Flaky); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestATestThatIsFoundFlakyAtTheLastIsLeftOut(t *testing.T) {
	w := &world{base: base(), tests: usual()}
	w.tests[testLuck] = always(parser.Passed)
	w.twist = func(r *judge.Report, _ files, of string, n int) {
		if of != "" && n == 4 {
			set(r, testLuck, parser.Failed)
		}
	}
	got, err := scene{world: w, fixed: fixed(t)}.prove(t)
	if diff := cmp.Diff([]string{testLuck}, got.Flaky); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if slices.Contains(got.PassToPass, testLuck) {
		t.Error("it is in a list")
	}
}

// set changes the outcome of a test in a report.
func set(r *judge.Report, name string, status parser.Status) {
	for i := range r.Tests {
		if r.Tests[i].Name == name {
			r.Tests[i].Status = status
		}
	}
}

// end makes a report one of another end.
func end(status judge.Status, problem string, more func(r *judge.Report)) func(r *judge.Report) {
	return func(r *judge.Report) {
		r.Status, r.Problem, r.Valid = status, problem, false
		if more != nil {
			more(r)
		}
	}
}

func TestUnsoundTasksAreRejectedForTheirReason(t *testing.T) {
	onBoth := func(do func(r *judge.Report)) func(*judge.Report, files, string, int) {
		return func(r *judge.Report, _ files, _ string, _ int) { do(r) }
	}
	onFix := func(do func(r *judge.Report)) func(*judge.Report, files, string, int) {
		return func(r *judge.Report, f files, _ string, _ int) {
			if adds(f) {
				do(r)
			}
		}
	}
	onBase := func(do func(r *judge.Report)) func(*judge.Report, files, string, int) {
		return func(r *judge.Report, f files, _ string, _ int) {
			if !adds(f) {
				do(r)
			}
		}
	}
	none := func(r *judge.Report) { r.Tests = nil }
	luck := func(yes bool) func(*judge.Report, files, string, int) {
		return func(r *judge.Report, f files, _ string, n int) {
			if adds(f) == yes && n%2 == 0 {
				status := parser.Failed
				if !yes {
					status = parser.Passed
				}
				set(r, testAdd, status)
			}
		}
	}
	grep := func(text string) func(files) parser.Status {
		return when(func(f files) bool { return strings.Contains(f["calc.py"], text) })
	}
	reads := newTest("def test_add():", "    text = open('calc.py').read()", "    assert 'a + b' in text")
	twoPlaces := base()
	twoPlaces["calc.py"] += strings.Repeat("\n# far away\n\n", 5) + "def plus(a, b):\n    return b - a\n"
	for name, s := range map[string]struct {
		code, detail string
		scene        scene
	}{
		"an empty fix":          {DoesNotApply, "empty", scene{c: Case{Fix: []byte("\n")}}},
		"a fix that is no diff": {DoesNotApply, "names no file", scene{c: Case{Fix: []byte("return a + b\n")}}},
		"a fix that leaves":     {DoesNotApply, "not below the tree", scene{c: Case{Fix: []byte("diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n")}}},
		"a fix for something else": {DoesNotApply, "with the fix: error: patch failed: calc.py", scene{
			c: Case{Fix: []byte("diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-what\n+that\n")},
		}},
		"nothing runs with the fix": {NoTestsRan, "no result", scene{world: &world{twist: onBoth(end(judge.StatusInvalid, "the output holds no result", none))}}},
		"all tests are skipped":     {NoTestsRan, "with the fix", scene{world: &world{tests: map[string]func(files) parser.Status{testAdd: always(parser.Skipped)}}}},
		"there is no test":          {NoTestsRan, "with the fix", scene{world: &world{tests: map[string]func(files) parser.Status{"x": always("")}}}},
		"nothing fails before":      {PassesBefore, "2 tests pass", scene{world: &world{tests: map[string]func(files) parser.Status{testAdd: always(parser.Passed), testOther: always(parser.Passed)}}}},
		"nothing passes after":      {FailsAfter, testBroken, scene{world: &world{tests: map[string]func(files) parser.Status{testBroken: always(parser.Failed), testOther: always(parser.Passed)}}}},
		"what passed fails after":   {FailsAfter, testBroken, scene{world: &world{tests: map[string]func(files) parser.Status{testBroken: always(parser.Failed), testOther: when(func(f files) bool { return !adds(f) })}}}},
		"flaky with the fix":        {Flaky, testAdd, scene{world: &world{twist: luck(true)}}},
		"flaky without the fix":     {Flaky, testAdd, scene{world: &world{twist: luck(false)}}},
		"flaky at the last": {Flaky, testAdd, scene{world: &world{twist: func(r *judge.Report, f files, _ string, n int) {
			if adds(f) && n == 4 {
				set(r, testAdd, parser.Failed)
			}
		}}}},
		"out of time with the fix": {Timeout, "with the fix: within 1m", scene{world: &world{twist: onFix(end(judge.StatusTimeout, "within 1m", nil))}}},
		"out of time before":       {Timeout, "on the untouched tree: within 1m", scene{world: &world{twist: onBase(end(judge.StatusTimeout, "within 1m", none))}}},
		"a command that is not there": {NotFound, "exit code 127", scene{world: &world{twist: onBoth(end(judge.StatusInvalid, "exit code 127", func(r *judge.Report) {
			r.Tests, r.NotRun = nil, true
		}))}}},
		"a command that only the fix brings": {NotFound, "on the untouched tree", scene{world: &world{twist: onBase(end(judge.StatusInvalid, "exit code 126", func(r *judge.Report) {
			r.Tests, r.NotRun = nil, true
		}))}}},
		"a tampered run":             {Tampered, "the tripwire", scene{world: &world{twist: onFix(end(judge.StatusTampered, "the tripwire", nil))}}},
		"a run that never ends well": {Unusable, "did not come to its end", scene{world: &world{twist: onFix(end(judge.StatusInvalid, "did not come to its end", nil))}}},
		"a judge that wants more": {Unusable, "too slow", scene{world: &world{twist: func(r *judge.Report, f files, _ string, n int) {
			if adds(f) && n > 3 {
				end(judge.StatusOK, "too slow", nil)(r)
			}
		}}}},
		"tests that do not build": {CollectionError, "missing: plus: ", scene{world: &world{broke: func(f files) string {
			if !adds(f) {
				return "tests/test_calc.py"
			}
			return ""
		}}}},
		"tests that do not build in silence": {CollectionError, "did not run", scene{world: &world{twist: onBase(end(judge.StatusInvalid, "", none))}}},
		"a statement that has other names": {CollectionError, "missing: plus: ", scene{c: Case{Statement: "Let calc have surplus."}, world: &world{broke: func(f files) string {
			if !adds(f) {
				return "tests/test_calc.py"
			}
			return ""
		}}}},
		"tests that look for a text": {TestsGrepSource, testAdd, scene{tests: reads, world: &world{tests: map[string]func(files) parser.Status{testAdd: grep("a + b")}}}},
		"tests that look for a line": {TestsGrepSource, testAdd, scene{tests: reads, world: &world{tests: map[string]func(files) parser.Status{testAdd: grep("\n    return a + b\n")}}}},
		"tests that look for what is gone": {TestsGrepSource, testAdd, scene{tests: reads, world: &world{tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool {
			return strings.Contains(f["calc.py"], "a + b") && !strings.Contains(f["calc.py"], "a - b")
		})}}}},
		"tests that look at a text for people": {TestsGrepSource, testAdd, scene{
			tests: newTest("text = open('README.md').read()"), fixed: fixed(t).edited(t, "README.md", "A calc", "An adding calc"),
			world: &world{tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool { return strings.Contains(f["README.md"], "adding") })}},
		}},
		"a fix of comments": {Uncovered, "comments", scene{fixed: base().edited(t, "calc.py", "# a calculator", "# THE calculator"), world: &world{tests: map[string]func(files) parser.Status{
			testAdd: when(func(f files) bool { return strings.Contains(f["calc.py"], "THE") }),
		}}}},
		"either of two places is enough": {Uncovered, "any one of the 2 hunks", scene{fixed: fixed(t).edited(t, "other.py", "return 1", "return 2"), world: &world{tests: map[string]func(files) parser.Status{
			testAdd: when(func(f files) bool { return adds(f) || f.does("other.py", "return 2") }),
		}}}},
		"each of two places needs the other": {FixNotNeeded, "all 2 hunks", scene{
			fixed: twoPlaces.edited(t, "calc.py", "a - b", "a + b", "b - a", "b + a", "# a calculator", "# It's a calculator").edited(t, "README.md", "A c", "My c"),
			world: &world{base: twoPlaces, tests: map[string]func(files) parser.Status{testAdd: when(func(f files) bool {
				return strings.HasPrefix(f["README.md"], "My") && adds(f) == f.does("calc.py", "return b + a")
			})}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.scene.world
			if w == nil {
				w = &world{}
			}
			if w.base == nil {
				w.base = base()
			}
			if w.tests == nil {
				w.tests = usual()
			}
			s.scene.world = w
			if s.scene.fixed == nil {
				s.scene.fixed = fixed(t)
			}
			_, err := s.scene.prove(t)
			got := reason.Of(err)
			if got == nil {
				t.Fatalf("error %v, want %s", err, s.code)
			}
			if got.Code != s.code || !strings.Contains(got.Detail, s.detail) {
				t.Errorf("%s: %s, want %s: %s", got.Code, got.Detail, s.code, s.detail)
			}
		})
	}
}

func TestTestsMayNotBuildBeforeWhereTheStatementNamesWhatIsMissing(t *testing.T) {
	broke := func(f files) string {
		if !f.does("calc.py", "def plus(a, b):") {
			return "tests/test_calc.py"
		}
		return ""
	}
	after := base()
	after["calc.py"] += "\n\ndef plus(a, b):\n    return a + b\n"
	for name, c := range map[string]Case{
		"an interface":    {Interface: true},
		"the name itself": {Statement: "Add calc.plus, which adds."},
	} {
		w := &world{base: base(), tests: map[string]func(files) parser.Status{testAdd: when(adds), testOther: always(parser.Passed), "tests/test_x.py::test_x": always(parser.Passed)}, broke: broke}
		got, err := scene{world: w, fixed: after, c: c}.prove(t)
		if err != nil {
			t.Fatal(name, err)
		}
		want := Proof{
			FailToPass: []string{testAdd, testOther}, PassToPass: []string{"tests/test_x.py::test_x"}, Missing: []string{"plus"}, Hunks: 1, Covered: 1,
			Flaky: []string{}, Textual: []string{}, Uncovered: []string{}, Runs: got.Runs, Seconds: got.Seconds,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatWasPrintedTellsTheMissingNames(t *testing.T) {
	w := &world{base: base(), tests: usual(), broke: func(f files) string {
		if !adds(f) {
			return "tests/test_calc.py"
		}
		return ""
	}}
	c := Case{Printed: func(_ context.Context, r judge.Report) (string, error) {
		return "./calc_test.go:5:2: undefined: calc.Plus\n./calc_test.go:6:2: undefined: calc.Plus\n" + strings.Repeat("noise\n", 1000), nil
	}}
	got, err := scene{world: w, fixed: fixed(t), c: c}.prove(t)
	if r := reason.Of(err); r == nil || r.Code != CollectionError || !strings.Contains(r.Detail, "undefined: calc.Plus") || len(r.Detail) > 2000 {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"plus", "calc.Plus"}, got.Missing); diff != "" {
		t.Error(diff)
	}
}

// A test that kills the process takes those behind it along: all of them have failed.
func TestTestsThatWereNotReachedHaveFailed(t *testing.T) {
	w := &world{base: base(), tests: usual()}
	w.tests["tests/test_calc.py::test_later"] = func(f files) parser.Status {
		if !adds(f) {
			return ""
		}
		return parser.Passed
	}
	got, err := scene{world: w, fixed: fixed(t)}.prove(t)
	if diff := cmp.Diff([]string{testAdd, "tests/test_calc.py::test_later"}, got.FailToPass); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestATestThatReadsSourcesAmongOthersIsLeftOut(t *testing.T) {
	w := &world{base: base(), tests: usual()}
	greps := "tests/test_calc.py::test_text"
	w.tests[greps] = when(func(f files) bool { return strings.Contains(f["calc.py"], "a + b") })
	tests := newTest("import inspect, calc", "def test_text(): assert 'a + b' in inspect.getsource(calc)")
	got, err := scene{world: w, fixed: fixed(t), tests: tests}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{testAdd}, {greps}}, [][]string{got.FailToPass, got.Textual}); diff != "" {
		t.Error(diff)
	}
}

func TestTestsThatReadFilesOfTheirOwnAreSound(t *testing.T) {
	tests := newTest("from calc import add", "data = open(os.path.join(os.path.dirname(__file__), 'data.json'))", "# of calc.py", "def test_add(): pass")
	got, err := scene{world: &world{base: base(), tests: usual()}, fixed: fixed(t), tests: tests}.prove(t)
	if diff := cmp.Diff([]string{testAdd}, got.FailToPass); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// In Go an import and its use need each other: without either nothing builds, whatever the
// tests look at.
func TestPartsThatNeedEachOtherToBuildAreTriedTogether(t *testing.T) {
	from := files{"a.go": "package a\n\nimport \"fmt\"\n" + strings.Repeat("\n// far\n", 6) + "func F() string { return fmt.Sprint(1) }\n", "b.go": "package a\n\nfunc g() int { return 1 }\n"}
	after := from.edited(t, "a.go", "import \"fmt\"", "import \"strconv\"", "fmt.Sprint(1)", "strconv.Itoa(2)")
	for name, s := range map[string]struct {
		needs func(f files) bool
	}{
		"tested":   {func(f files) bool { return strings.Contains(f["a.go"], "Itoa(2)") }},
		"untested": {func(f files) bool { return strings.Contains(f["b.go"], "2") }},
	} {
		w := &world{
			base: from, tests: map[string]func(files) parser.Status{"a::TestF": when(s.needs), "a::TestG": always(parser.Passed)},
			broke: func(f files) string {
				if strings.Contains(f["a.go"], "\"strconv\"") != strings.Contains(f["a.go"], "strconv.Itoa") {
					return "a"
				}
				return ""
			},
		}
		to := maps.Clone(after)
		if name == "untested" {
			to["b.go"] = strings.Replace(to["b.go"], "1", "2", 1)
		}
		got, err := scene{world: w, fixed: to}.prove(t)
		if err != nil {
			t.Fatal(name, err)
		}
		// What does not build without it counts as soon as a test fails elsewhere.
		if want := len(units(must(split(difference(t, from, to))))); got.Hunks != want || got.Covered != want {
			t.Errorf("%s: %d of %d covered, %d hunks", name, got.Covered, got.Hunks, want)
		}
	}
}

func must(s []section, err error) []section {
	if err != nil {
		panic(err)
	}
	return s
}

func TestManyHunksAreTriedInGroups(t *testing.T) {
	from, after := base(), fixed(t)
	for i := range 40 {
		name := "more/" + string(rune('a'+i/10)) + "/" + string(rune('a'+i%10)) + ".py"
		from[name], after[name] = "x = 1\n", "x = 2\n"
	}
	w := &world{base: from, tests: usual()}
	got, err := scene{world: w, fixed: after}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hunks != 41 || got.Covered < 1 || got.Covered > 2 || len(got.Uncovered) != got.Hunks-got.Covered {
		t.Errorf("%d of %d covered, %d not", got.Covered, got.Hunks, len(got.Uncovered))
	}
	if most := 6 + maxGroups + 1 + 2; got.Runs > most {
		t.Errorf("%d runs, at most %d", got.Runs, most)
	}
}

func TestTroubleIsNoFaultOfTheTask(t *testing.T) {
	for name, twist := range map[string]func(r *judge.Report){
		"a lost machine":  end(judge.StatusError, "the machine is gone", nil),
		"a broken engine": func(r *judge.Report) { r.Problem = "the world ends" },
	} {
		w := &world{base: base(), tests: usual(), twist: func(r *judge.Report, _ files, _ string, n int) {
			if n == 3 {
				twist(r)
			}
		}}
		_, err := scene{world: w, fixed: fixed(t)}.prove(t)
		if err == nil || reason.Of(err) != nil || !strings.Contains(err.Error(), "acme-calc-12") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	run := func(context.Context, task.Task, []byte) (judge.Report, error) { return judge.Report{}, patch.ErrEmpty }
	_, err := Prove(ctx, Case{Fix: difference(t, base(), fixed(t))}, run)
	if err == nil || reason.Of(err) != nil {
		t.Errorf("cancelled: %v", err)
	}
}
