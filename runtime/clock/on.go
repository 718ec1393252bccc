//go:build faults

package clock

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Fault is what the file that ASSAYD_FAULT_CLOCK names holds as JSON. It is read at each
// reading of a clock, so that a test steps the clock of a daemon that runs.
type Fault struct {
	Step string // what is added to the wall clock, as a duration; "" = nothing
	Boot string // the id of the boot; "" = as it is
}

// fault reads the file. One that is not there changes nothing; a test that wrote something
// else is told loudly.
func fault() (f Fault, step time.Duration) {
	name := os.Getenv("ASSAYD_FAULT_CLOCK")
	if name == "" {
		return f, 0
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return f, 0
	}
	if err = json.Unmarshal(text, &f); err == nil && f.Step != "" {
		step, err = time.ParseDuration(f.Step)
	}
	if err != nil {
		panic(fmt.Sprintf("ASSAYD_FAULT_CLOCK: %s: %v", name, err))
	}
	return f, step
}

// wall is the stepped wall clock, without the reading that a step leaves alone.
func wall() time.Time {
	_, step := fault()
	return time.Now().Round(0).Add(step)
}

func rebooted(boot string) string {
	if f, _ := fault(); f.Boot != "" {
		return f.Boot
	}
	return boot
}
