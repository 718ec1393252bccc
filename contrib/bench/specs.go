package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// judgeLimits are those of the judge below, for the reference.
var judgeLimits = container.Limits{CPUs: 1, Memory: 256 << 20, PIDs: 128}

// benchmark is a task whose judge command takes no time at all, an agent that waits, and a
// run of several such trials. Its name is new each time, so that no image of it is there.
func (w *fixture) benchmark() string {
	return fmt.Sprintf(`
benchmark %q {
  task "idle" {
    image       = %q
    instruction = "Wait."
    submit {
      paths = ["src/"]
    }
    work {
      files  = { "src/number" = "0" }
      cpus   = %v
      memory = "128MiB"
      disk   = "256MiB"
    }
    judge {
      command = ["true"]
      parser  = "exit_code"
      cpus    = %v
      memory  = "%dMiB"
      pids    = %d
    }
  }
}

agent "sleeper" {
  command = ["sleep", "1h"]
}

run "long" {
  tasks     = [benchmark.%s]
  attempts  = %d
  parallel  = %d
  auto_eval = "0s"
  agent "sleeper" {}
}
`, w.name(), w.image, 0.8/float64(w.trials), judgeLimits.CPUs, judgeLimits.Memory>>20, judgeLimits.PIDs, w.name(), w.trials, w.trials)
}

// name is the benchmark's.
func (w *fixture) name() string { return "bench" + w.owner[:8] }

// nopRun is a run that is over as soon as it has begun.
func (w *fixture) nopRun(name string, lines ...string) string {
	return fmt.Sprintf(`
run %q {
  tasks     = [benchmark.%s]
  auto_eval = "0s"
  agent "nop" {}
  %s
}
`, name, w.name(), strings.Join(lines, "\n  "))
}

// record is what is read of a line of a result file.
type record struct {
	Time       time.Time
	Type       string
	Round      string
	Kind       string
	QueuedMS   float64 `json:"queued_ms"`
	JudgeMS    float64 `json:"judge_ms"`
	DurationMS float64 `json:"duration_ms"`
	Images     map[string]string

	Status       string
	AgentSeconds float64 `json:"agent_duration_s"`

	Accepted int
	SpentS   map[string]float64 `json:"spent_s"`
}

// records reads a file of the daemon's beside the specs. A file that is not there yet has
// no records.
func (w *fixture) records(name string) (all []record, err error) {
	f, err := os.Open(filepath.Join(w.specs, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// ofType returns the first record of a type.
func ofType(all []record, typ string) (record, bool) {
	for _, r := range all {
		if r.Type == typ {
			return r, true
		}
	}
	return record{}, false
}
