package main

import (
	"runtime"
	"testing"
)

func TestCPUModel(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"the first processor's":        {"processor\t: 0\nmodel\t\t: 1\nmodel name\t: Example 1\nprocessor\t: 1\nmodel name\t: Example 2\n", "Example 1"},
		"else what is known of itself": {"processor\t: 0\nBogoMIPS\t: 50\n", runtime.GOARCH},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cpuModel(tc.text); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestResident(t *testing.T) {
	got, err := resident("Name:\tassayd\nVmHWM:\t   95972 kB\nVmRSS:\t   50000 kB\n")
	if err != nil || got != 51.2 {
		t.Errorf("%v, %v; want 51.2 MB", got, err)
	}
	if _, err := resident("Name:\tassayd\n"); err == nil {
		t.Error("a process without memory is no error")
	}
}

func TestCPUSeconds(t *testing.T) {
	const stat = "12 (a) b (c) S 1 12 12 0 -1 4194560 900 0 0 0 150 25 0 0 20 0 9 0 77 88 99\n"
	got, err := cpuSeconds(stat)
	if err != nil || got != 1.75 {
		t.Errorf("%v, %v; want 1.75 s", got, err)
	}
	for _, short := range []string{"", "12 (a) S 1 2", "12 (a) S 1 12 12 0 -1 4194560 900 0 0 0 x y"} {
		if _, err := cpuSeconds(short); err == nil {
			t.Errorf("%q is no error", short)
		}
	}
}
