package judgecmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

var errUnkillable = errors.New("some processes are still there after SIGKILL")

// sweepTime bounds a sweep: what the kernel does not kill in it is stuck there.
const sweepTime = 10 * time.Second

// Sweep kills every process of a container but the first one, which holds it, and this one,
// and returns when none is left. It is run beside the first process, and refuses any
// container, and any machine, whose first process is not the guest.
func Sweep(ctx context.Context) error {
	if err := heldBy("/proc/1/cmdline"); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	for {
		// The kernel spares whoever asks, and the first process of its namespace. What has
		// ended counts until the first process has reaped it.
		err := syscall.Kill(-1, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("kill everything: %w", err)
		}
		if clock.Sleep(bounded, 2*time.Millisecond) != nil {
			return errUnkillable
		}
	}
}

// heldBy checks that a command line is that of a guest that holds its container.
func heldBy(cmdline string) error {
	text, err := os.ReadFile(cmdline)
	if err != nil {
		return fmt.Errorf("see who holds this container: %w", err)
	}
	args := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
	if len(args) != 2 || filepath.Base(string(args[0])) != protocol.NameGuest || string(args[1]) != "hold" {
		return errors.New("kill everything: this is no container that the guest holds")
	}
	return nil
}
