package tasklookup

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/request"
)

func TestATaskIsFoundByItsAddress(t *testing.T) {
	block := func(name string, tasks ...string) string {
		text := "benchmark \"" + name + "\" {\n"
		for _, task := range tasks {
			text += "task \"" + task + "\" {\n image = \"x\"\n instruction = \"do\"\n judge { command = \"true\" }\n}\n"
		}
		return text + "}\n"
	}
	text := block("many", "one", "two") + block("single", "only") + minedFrom("pulls") + minedFrom("fresh")
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, withMined("pulls", "a-b-1", "a-b-2", "gone", "c-d-3"))
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	for _, tc := range []struct{ address, want, says string }{
		{address: `benchmark.many["two"]`, want: "two"},
		{address: "benchmark.many.two", want: "two"},
		{address: "benchmark.single", want: "only"},
		{address: "benchmark.many", says: "has 2 tasks"},
		{address: "benchmark.mony", says: "there is no task or benchmark benchmark.mony; did you mean benchmark.many?"},
		{address: "benchmark.many.tow", says: `did you mean benchmark.many["two"]?`},
		{address: `benchmark.mony["two"]`, says: `did you mean benchmark.many["two"]?`},
		{address: `mining.pulls["a-b-2"]`, want: "a-b-2"},
		{address: "mining.pulls.a-b-1", want: "a-b-1"},
		{address: "mining.pulls", says: `has 2 tasks; name one, as in mining.pulls["NAME"]`},
		{address: "mining.gone", want: "c-d-3"}, // its block is, what was mined is not
		{address: "mining.fresh", says: "mining.fresh has no tasks"},
		{address: "mining.pull", says: "there is no task or benchmark mining.pull; did you mean mining.pulls?"},
		{address: "mining.pulls.a-b-3", says: `there is no task mining.pulls.a-b-3; did you mean mining.pulls["a-b-`},
		{address: `mining.many["two"]`, says: "there is no task"},
		{address: "mining.", says: "is no task"},
		{address: "mining", says: "is no task"},
		{address: `benchmark.many["two"`, says: "is no task"},
		{address: `benchmark.many["two"]x`, says: "is no task"},
		{address: `benchmark.many[]`, says: "is no task"},
		{address: `benchmark.many[""]`, says: "is no task"},
		{address: "benchmark.", says: "is no task"},
		{address: "run.nightly", says: "is no task"},
		{address: "", says: "is no task"},
		{address: "two", says: "is no task"},
	} {
		found, err := Find(set, tc.address)
		if tc.want != "" {
			if err != nil || found.Name() != tc.want {
				t.Errorf("%q: %v, want %s", tc.address, err, tc.want)
			}
			continue
		}
		if _, ok := errors.AsType[*request.Mistake](err); !ok || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: %v does not say %q", tc.address, err, tc.says)
		}
	}
}

func minedFrom(name string) string {
	return "mining \"" + name + "\" {\n  provider = \"openai\"\n}\n"
}

// withMined are options with tasks of two mining specs: that named first, and after "gone" that
// one.
func withMined(mining string, tasks ...string) config.Options {
	o := config.Options{
		Mined: config.NewMined(), Secret: func(string) (string, bool) { return "", true },
		Env: func(name string) (string, bool) { return "sk", name == "OPENAI_API_KEY" },
	}
	for _, name := range tasks {
		if name == "gone" {
			mining = name
			continue
		}
		o.Mined.Add(mining, config.Imported{Name: name, Task: json.RawMessage(`{"Benchmark":"` + mining + `","Name":"` + name + `","Image":"x"}`)})
	}
	return o
}

func TestAnAddressMeansTasks(t *testing.T) {
	text := historytest.Benchmark + minedFrom("pulls")
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, withMined("pulls", "a-b-1", "a-b-2", "gone", "c-d-3"))
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	edge, first, second := `benchmark.edge["one"]`, `mining.pulls["a-b-1"]`, `mining.pulls["a-b-2"]`
	for _, tc := range []struct {
		address string
		want    []string
	}{
		{"", []string{edge, first, second}},
		{"benchmark.edge", []string{edge}},
		{"mining.pulls", []string{first, second}},
		{"mining.pulls.a-b-2", []string{second}},
		{"mining.gone", []string{`mining.gone["c-d-3"]`}},
		{"mining.none", nil},
	} {
		got, err := Selected(set, tc.address)
		if diff := cmp.Diff(tc.want, addresses(got)); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%q: %v %s", tc.address, err, diff)
		}
	}
	for _, tc := range []struct{ benchmark, name, want string }{
		{"edge", "one", edge}, {"pulls", "a-b-1", first}, {"pulls", "a-b-9", `benchmark.pulls["a-b-9"]`},
	} {
		if got := AddressIn(set, tc.benchmark, tc.name); got != tc.want {
			t.Errorf("%s/%s is %s, want %s", tc.benchmark, tc.name, got, tc.want)
		}
	}
}

func addresses(all []config.Selected) (names []string) {
	for _, s := range all {
		names = append(names, s.Address())
	}
	return names
}
