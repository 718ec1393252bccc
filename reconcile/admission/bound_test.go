package admission

import "testing"

func TestWhatKeepsTrialsFromRunningTogether(t *testing.T) {
	two := Limits{CPUs: 2, Memory: 8 << 30, Judge: 0.25}
	few := two
	few.Containers = 2
	for _, tt := range []struct {
		name     string
		parallel int
		need     Need
		limits   Limits
		want     string
	}{
		{"two cores", 4, Need{CPUs: 1, Memory: 1 << 30}, two, "room for 1 trial at a time, where parallel allows 4: a trial takes 1 CPU, and agents have 1 CPU of 2 CPUs; less is work { cpus } in the run, more is limits { cpus, judge } in the settings"},
		{"half a core each", 2, Need{CPUs: 0.5, Memory: 1 << 30}, two, ""},
		{"half a core each, and three", 3, Need{CPUs: 0.5, Memory: 1 << 30}, two, "room for 2 trials at a time, where parallel allows 3: a trial takes 0.5 CPUs, and agents have 1 CPU of 2 CPUs; less is work { cpus } in the run, more is limits { cpus, judge } in the settings"},
		{"memory", 3, Need{CPUs: 0.1, Memory: 4 << 30}, two, "room for 1 trial at a time, where parallel allows 3: a trial takes 4.0 GiB, and agents have 6.0 GiB of 8.0 GiB; less is work { memory } in the run, more is limits { memory, judge } in the settings"},
		{"containers", 3, Need{CPUs: 0.1, Memory: 1}, few, "room for 2 trials at a time, where parallel allows 3: 2 containers are the most at once; the setting is limits { containers }"},
		{"one is asked for", 1, Need{CPUs: 1, Memory: 1}, two, ""},
		{"one is always admitted", 1, Need{CPUs: 9, Memory: 1}, two, ""},
		{"a machine that is not known", 3, Need{CPUs: 1, Memory: 1}, Limits{}, ""},
	} {
		if got := tt.limits.Bound([]Need{tt.need, tt.need, tt.need}, tt.parallel); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
