//go:build soak

package daemon_test

import "testing"

func TestSoakAHundredThousandRefusedSubmissions(t *testing.T) { refuseMany(t, 100_000) }

func TestSoakAHundredThousandRepeatedSubmissions(t *testing.T) {
	if got := repeatMany(t, 100_000); got != 10_000 {
		t.Errorf("%d were accepted, no trial has more than 10000", got)
	}
}

// TestSoakFortyGigabytesOfOutput: the disk and the memory that they take are those of two.
func TestSoakFortyGigabytesOfOutput(t *testing.T) {
	greed(t, 40<<30, "1", map[string]string{"output": "agent_exit", "calm": "agent_exit"})
}
