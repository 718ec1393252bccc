//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// `assayd run` is a daemon that nobody may ever start again: interrupted at whatever
// moment, it leaves no container behind.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	common := w.benchmark() + w.agent("waiter", waiter)
	for round := range 10 {
		w.write("r.hcl", common+w.run("brief", []string{fmt.Sprintf(`agent "waiter" { env = { ROUND = "%d" } }`, round)}, `timeout = "3m"`, `auto_eval = "1s"`))
		cmd := exec.CommandContext(t.Context(), binary, "run", "--state", w.state, filepath.Join(w.specs, "r.hcl"))
		var output lockedBuffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.until("the agent's container runs", func() error {
			if len(w.bodies()) == 0 {
				return errors.New("there is none; the program says: " + output.String())
			}
			return nil
		})
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // a random moment
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("round %d ended with %v:\n%s", round, err, output.String())
		}
		left, err := w.engine.Observe(t.Context(), w.owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range left {
			t.Errorf("round %d left %s, %s:\n%s", round, c.Name, c.Phase, output.String())
		}
	}
	w.noContainerIsLeft()
}

// lockedBuffer can be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
