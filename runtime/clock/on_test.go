//go:build faults

package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestATestBuildStepsTheWallClockAndTheBootButNoLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clock")
	t.Setenv("ASSAYD_FAULT_CLOCK", file)
	l, before := Begin(), Now()
	for text, want := range map[string]time.Duration{`{"step":"1h"}`: time.Hour, `{"step":"-1h"}`: -time.Hour, `{}`: 0} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if off := Now().Sub(before) - want; off.Abs() > near {
			t.Errorf("%s: the wall clock is %s off", text, off)
		}
		if off := l.Until(before); off.Abs() > near {
			t.Errorf("%s: the line went on by %s", text, off)
		}
	}
	if err := os.WriteFile(file, []byte(`{"boot":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := l.Renewed(); r.Boot != "other" || l == r {
		t.Errorf("in another boot the line is renewed as %+v", r)
	}
}
