package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/contrib/bench/result"
)

func TestADifferenceIsMoreThanTheNoise(t *testing.T) {
	for name, tc := range map[string]struct {
		base, now []float64
		want      bool
	}{
		"each turn is better than each of the other": {[]float64{100, 110, 105}, []float64{80, 90, 85}, true},
		"each turn is worse":                         {[]float64{80, 90, 85}, []float64{100, 110, 105}, true},
		"the turns overlap":                          {[]float64{80, 110, 85}, []float64{90, 100, 120}, false},
		"apart, and about the same":                  {[]float64{100, 101, 102}, []float64{103, 104, 105}, false},
		"one turn each":                              {[]float64{100}, []float64{10}, false},
		"none":                                       {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (compared{Base: tc.base, Now: tc.now}).differs(); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestTurnsAreEnteredByNameAndSide(t *testing.T) {
	turn := func(a, b float64) []result.Result {
		return []result.Result{
			result.Compare("ms", []float64{a}, []float64{1}).Called("a", "what a is", "one"),
			result.Compare("MB", []float64{b}, []float64{1}).Called("b", "what b is", "one"),
		}
	}
	var all []compared
	all = enter(all, turn(1, 10), true)
	all = enter(all, turn(2, 20), false)
	all = enter(all, turn(3, 30)[:1], false) // an older program lacks what the other tells
	all = enter(all, turn(4, 40), true)
	want := []compared{
		{Name: "a", What: "what a is", Unit: "ms", Base: []float64{1, 4}, Now: []float64{2, 3}},
		{Name: "b", What: "what b is", Unit: "MB", Base: []float64{10, 40}, Now: []float64{20}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestComparisonMarksWhatDiffers(t *testing.T) {
	got := comparison([]compared{
		{What: "faster", Unit: "ms", Base: []float64{100, 101}, Now: []float64{50, 51}},
		{What: "as before", Unit: "ms", Base: []float64{100, 110}, Now: []float64{105, 106}},
	})
	lines := strings.Split(got, "\n")
	for i, fields := range map[int]string{
		0: "|what|base|now|now/base||", 2: "|faster|100 ms|50.5 ms|0.502|*|", 3: "|as before|105 ms|106 ms|1.00||",
	} {
		var cells []string
		for cell := range strings.SplitSeq(lines[i], "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		if diff := cmp.Diff(fields, strings.Join(cells, "|")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSubjectsAreChosenByName(t *testing.T) {
	for name, tc := range map[string]struct {
		o    options
		want string // names, or a part of the error
	}{
		"none means all":                   {options{}, strings.Join(names(subjects), ",")},
		"the order is the usual one":       {options{only: "soak,drops"}, "drops,soak"},
		"an unknown one":                   {options{only: "drops,drop"}, `no subject "drop"`},
		"a comparison is short by itself":  {options{base: "b"}, "submissions,parallel,drops,restarts,idling"},
		"and longer when asked to be":      {options{base: "b", only: "soak"}, "soak"},
		"but only of what programs can do": {options{base: "b", only: "cleaning"}, `no subject "cleaning"`},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(tc.o)
			got := strings.Join(names(chosen), ",")
			if err != nil {
				got = err.Error()
			}
			if got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestABoundThatIsExceededFailsTheBench(t *testing.T) {
	within := result.Compare("MB", []float64{120}, []float64{100}).Called("soak_memory", "memory", "the first quarter")
	within.Bound = 1.25
	beyond := within
	beyond.Ratio, beyond.Name = 1.26, "soak_files"
	if err := (report{Results: []result.Result{within, sample.Results[0]}}).exceeded(); err != nil {
		t.Error(err)
	}
	if err := (report{Results: []result.Result{within, beyond}}).exceeded(); err == nil || !strings.Contains(err.Error(), "soak_files") {
		t.Errorf("what is beyond its bound is told as %v", err)
	}
}

func TestEndsAreQuarters(t *testing.T) {
	early, late := ends([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	if diff := cmp.Diff([][]float64{{1, 2}, {8, 9}}, [][]float64{early, late}); diff != "" {
		t.Error(diff)
	}
	if early, late := ends([]float64{1, 2}); len(early) != 1 || len(late) != 1 {
		t.Errorf("%v and %v are not one sample each", early, late)
	}
}
