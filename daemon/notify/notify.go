package notify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the daemon has started, or that a reload is over.
func Ready() error { return send(daemon.SdNotifyReady) }

// Reloading says that the settings are read again; Ready must follow, or systemd waits
// for ever.
func Reloading() error {
	return send(daemon.SdNotifyReloading + "\n" + strings.TrimSuffix(daemon.SdNotifyMonotonicUsec(), "\n"))
}

// Stopping says that the daemon is on its way out.
func Stopping() error { return send(daemon.SdNotifyStopping) }

// Watchdog tells systemd that the daemon is alive, until ctx ends: at a third of the
// interval that the unit asks for (WatchdogSec), but only while the last progress, as
// sinceProgress tells, is younger than that interval. A daemon that hangs is therefore
// killed and started again. Watchdog returns nil at once where no watchdog is asked for,
// and an error at once when its settings make no sense. A ping that cannot be sent is
// tried again at the next third; the error of the last one is returned when ctx ends.
func Watchdog(ctx context.Context, sinceProgress func() time.Duration) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read the watchdog interval: %w", err)
	}
	if interval == 0 {
		return nil
	}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		if sinceProgress() < interval {
			err = send(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

func send(state string) error {
	// The result tells whether systemd is there, which is no concern of ours.
	if _, err := daemon.SdNotify(false, state); err != nil {
		name, _, _ := strings.Cut(state, "=")
		return fmt.Errorf("tell systemd %s: %w", name, err)
	}
	return nil
}
