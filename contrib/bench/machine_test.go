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

func TestMegabytesOfAProcess(t *testing.T) {
	const status = "Name:\tassayd\nVmHWM:\t   75000 kB\nVmRSS:\t   50000 kB\n"
	for name, want := range map[string]float64{"VmRSS:": 51.2, "VmHWM:": 76.8} {
		if got, err := megabytesOf(status, name); err != nil || got != want {
			t.Errorf("%s %v, %v; want %v MB", name, got, err, want)
		}
	}
	if _, err := megabytesOf("Name:\tassayd\n", "VmRSS:"); err == nil {
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
