package proof

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/diff"
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
	world *fixture
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
	got, err := scene{world: &fixture{base: base(), tests: usual()}, fixed: after}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	want := Proof{
		FailToPass: []string{testAdd}, PassToPass: []string{testOther}, Flaky: []string{}, Textual: []string{}, NeverRan: []string{}, Missing: []string{},
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
	w := &fixture{base: from, tests: usual()}
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
	w := &fixture{base: base(), tests: usual()}
	w.tests[testLuck] = always(parser.Passed)
	w.twist = func(r *round.Report, _ files, of string, n int) {
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
	w := &fixture{base: base(), tests: usual()}
	w.tests[testLuck] = always(parser.Passed)
	w.twist = func(r *round.Report, _ files, of string, n int) {
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
		"an interface":    {Interface: true, Statement: "## Interface\n`plus(a, b)`"},
		"the name itself": {Statement: "Add calc.plus, which adds."},
	} {
		w := &fixture{base: base(), tests: map[string]func(files) parser.Status{testAdd: when(adds), testOther: always(parser.Passed), "tests/test_x.py::test_x": always(parser.Passed)}, broke: broke}
		got, err := scene{world: w, fixed: after, c: c}.prove(t)
		if err != nil {
			t.Fatal(name, err)
		}
		want := Proof{
			FailToPass: []string{testAdd, testOther}, PassToPass: []string{"tests/test_x.py::test_x"}, Missing: []string{"plus"}, Hunks: 1, Covered: 1,
			NeverRan: []string{testAdd, testOther}, Stopping: 1,
			Flaky: []string{}, Textual: []string{}, Uncovered: []string{}, Runs: got.Runs, Seconds: got.Seconds,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A section that names something is none that names what is missing.
func TestAnInterfaceHasToNameWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		said, code string
	}{
		"it does not":           {"cannot import name 'plus' from 'calc'", CollectionError},
		"it does":               {"No module named 'calc.minus'", ""},
		"nobody knows what is":  {"it went wrong", ""},
		"one of two is missing": {"cannot import name 'minus'\nNo module named 'calc.plus'", CollectionError},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fixture{base: base(), tests: usual(), twist: func(r *round.Report, f files, _ string, _ int) {
				if !adds(f) {
					r.Tests = []parser.Test{{Name: "tests/test_calc.py", Status: parser.Errored, Message: tc.said}}
					end(round.StatusInvalid, "the run did not come to its end", nil)(r)
				}
			}}
			_, err := scene{world: w, fixed: fixed(t), c: Case{Interface: true, Statement: "## Interface\n`calc.minus(a, b)`"}}.prove(t)
			if r := reason.Of(err); (r == nil) != (tc.code == "") || r != nil && r.Code != tc.code || r == nil && err != nil {
				t.Errorf("%v, want %q", err, tc.code)
			}
		})
	}
}

func TestWhatWasPrintedTellsTheMissingNames(t *testing.T) {
	w := &fixture{base: base(), tests: usual(), broke: func(f files) string {
		if !adds(f) {
			return "tests/test_calc.py"
		}
		return ""
	}}
	c := Case{Printed: func(_ context.Context, r round.Report) (string, error) {
		const always = "No module named 'optional'\n"
		if r.Status == round.StatusOK {
			return always, nil
		}
		return always + "./calc_test.go:5:2: undefined: calc.Plus\n./calc_test.go:6:2: undefined: calc.Plus\n" + strings.Repeat("noise\n", 1000), nil
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
	w := &fixture{base: base(), tests: usual()}
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
	w := &fixture{base: base(), tests: usual()}
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
	got, err := scene{world: &fixture{base: base(), tests: usual()}, fixed: fixed(t), tests: tests}.prove(t)
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
		w := &fixture{
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
		if want := len(units(must(diff.Read(difference(t, from, to))))); got.Hunks != want || got.Covered != want {
			t.Errorf("%s: %d of %d covered, %d hunks", name, got.Covered, got.Hunks, want)
		}
	}
}

func must(s []diff.File, err error) []diff.File {
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
	w := &fixture{base: from, tests: usual()}
	got, err := scene{world: w, fixed: after}.prove(t)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hunks != 41 || got.Covered < 1 || got.Covered > 2 || len(got.Uncovered) != got.Hunks-got.Covered {
		t.Errorf("%d of %d covered, %d not", got.Covered, got.Hunks, len(got.Uncovered))
	}
	if most := 6 + 2*maxGroups + 1 + 2; got.Runs > most {
		t.Errorf("%d runs, at most %d", got.Runs, most)
	}
}

// What is covered of many hunks is what was shown, wherever they are.
func TestManyHunksOfOneFile(t *testing.T) {
	place := func(i int) string {
		return "def f" + strconv.Itoa(i) + "():\n    return 0\n" + strings.Repeat("\n# far away\n\n", 5)
	}
	from, after := base(), fixed(t)
	for i := range 60 {
		from["many.py"] += place(i)
		after["many.py"] += strings.Replace(place(i), "return 0", "return "+strconv.Itoa(i+1), 1)
	}
	for name, tc := range map[string]struct {
		needs []int // besides add
		want  int
	}{
		"no other is needed":              {nil, 1},
		"one other is":                    {[]int{17}, 2},
		"two are":                         {[]int{17, 44}, 3},
		"more are than can be told apart": {numbersTo(60), 23},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &fixture{base: from, tests: usual()}
			for _, n := range tc.needs {
				w.tests["tests/test_many.py::test_"+strconv.Itoa(n)] = when(func(f files) bool { return f.does("many.py", "return "+strconv.Itoa(n+1)) })
			}
			got, err := scene{world: w, fixed: after}.prove(t)
			if err != nil {
				t.Fatal(err)
			}
			if got.Hunks != 61 || got.Covered < tc.want || got.Covered > len(tc.needs)+1 || got.Covered+len(got.Uncovered) != got.Hunks {
				t.Errorf("%d of %d covered, %d not", got.Covered, got.Hunks, len(got.Uncovered))
			}
			if most := 6 + 2*maxGroups + 1 + 2; got.Runs > most {
				t.Errorf("%d runs, at most %d", got.Runs, most)
			}
		})
	}
}

func numbersTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestTroubleIsNoFaultOfTheTask(t *testing.T) {
	for name, twist := range map[string]func(r *round.Report){
		"a lost machine":  end(round.StatusError, "the machine is gone", nil),
		"a broken engine": func(r *round.Report) { r.Problem = "the world ends" },
	} {
		w := &fixture{base: base(), tests: usual(), twist: func(r *round.Report, _ files, _ string, n int) {
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
	run := func(context.Context, task.Task, []byte) (round.Report, error) { return round.Report{}, patch.ErrEmpty }
	_, err := Prove(ctx, Case{Fix: difference(t, base(), fixed(t))}, run)
	if err == nil || reason.Of(err) != nil {
		t.Errorf("cancelled: %v", err)
	}
}
