package reconcile

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
)

func TestATaskIsFoundByItsAddress(t *testing.T) {
	block := func(name string, tasks ...string) string {
		text := "benchmark \"" + name + "\" {\n"
		for _, task := range tasks {
			text += "task \"" + task + "\" {\n image = \"x\"\n instruction = \"do\"\n judge { command = \"true\" }\n}\n"
		}
		return text + "}\n"
	}
	text := block("many", "one", "two") + block("single", "only")
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, config.Options{})
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
		{address: `benchmark.many["two"`, says: "is no task"},
		{address: `benchmark.many["two"]x`, says: "is no task"},
		{address: `benchmark.many[]`, says: "is no task"},
		{address: `benchmark.many[""]`, says: "is no task"},
		{address: "benchmark.", says: "is no task"},
		{address: "run.nightly", says: "is no task"},
		{address: "", says: "is no task"},
		{address: "two", says: "is no task"},
	} {
		found, err := findTask(set, tc.address)
		if tc.want != "" {
			if err != nil || found.Name() != tc.want {
				t.Errorf("%q: %v, want %s", tc.address, err, tc.want)
			}
			continue
		}
		if _, ok := errors.AsType[*Mistake](err); !ok || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: %v does not say %q", tc.address, err, tc.says)
		}
	}
}
