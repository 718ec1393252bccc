package notify

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("NOTIFY_TEST_CHILD") != "" {
		serveInherited()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestWhatSystemdHears(t *testing.T) {
	tests := []struct {
		name string
		say  func() error
		want string // regular expression
	}{
		{"ready", Ready, `READY=1`},
		{"reloading, with the time that Type=notify-reload needs", Reloading, `RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*`},
		{"stopping", Stopping, `STOPPING=1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			systemd := listen(t)
			if err := tt.say(); err != nil {
				t.Fatal(err)
			}
			if got := systemd.heard(); !regexp.MustCompile(`^` + tt.want + `$`).MatchString(got) {
				t.Errorf("systemd heard %q, want %s", got, tt.want)
			}
			if os.Getenv("NOTIFY_SOCKET") == "" {
				t.Error("NOTIFY_SOCKET was unset")
			}
		})
	}
}

func TestWithoutSystemdNothingHappens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	for name, say := range map[string]func() error{
		"Ready": Ready, "Reloading": Reloading, "Stopping": Stopping,
		"Watchdog": func() error { return Watchdog(t.Context(), nil) },
	} {
		if err := say(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASocketThatIsGoneIsAnError(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	if err := Ready(); err == nil || !strings.Contains(err.Error(), "READY") {
		t.Errorf("got %v, want an error that names what was to be said", err)
	}
}

func TestWatchdogFollowsProgress(t *testing.T) {
	systemd := listen(t)
	t.Setenv("WATCHDOG_USEC", "60000000")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		last := time.Now()
		ended := make(chan error)
		go func() {
			ended <- Watchdog(ctx, func() time.Duration { return time.Since(last) })
		}()
		// Progress stops at the start: pings at 0, 20 and 40 s, none at 60 s and later.
		<-time.After(5 * time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	want := []string{"WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"}
	if diff := cmp.Diff(want, systemd.all()); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
}

func TestWatchdogComesBackWithProgress(t *testing.T) {
	systemd := listen(t)
	t.Setenv("WATCHDOG_USEC", "60000000")
	t.Setenv("WATCHDOG_PID", "")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute-time.Second)
		defer cancel()
		err := Watchdog(ctx, func() time.Duration {
			if time.Since(start) > 4*time.Minute {
				return 0
			}
			return time.Hour
		})
		if err != nil {
			t.Error(err)
		}
	})
	if got := len(systemd.all()); got != 2 {
		t.Errorf("%d pings after progress came back, want those at 260 and 280 s", got)
	}
}

func TestWatchdogOfAnotherProcessIsNotOurs(t *testing.T) {
	systemd := listen(t)
	t.Setenv("WATCHDOG_USEC", "1000")
	t.Setenv("WATCHDOG_PID", "1")
	if err := Watchdog(t.Context(), func() time.Duration { return 0 }); err != nil {
		t.Error(err)
	}
	if got := systemd.all(); len(got) != 0 {
		t.Errorf("systemd heard %q", got)
	}
}

func TestWatchdogRefusesNonsense(t *testing.T) {
	for _, usec := range []string{"soon", "-1", "0"} {
		t.Setenv("WATCHDOG_USEC", usec)
		if err := Watchdog(t.Context(), func() time.Duration { return 0 }); err == nil {
			t.Errorf("WATCHDOG_USEC=%s: no error", usec)
		}
	}
}

// systemd stands in for the other end of NOTIFY_SOCKET.
type systemd struct {
	t    *testing.T
	conn *net.UnixConn
}

func listen(t *testing.T) *systemd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &systemd{t: t, conn: conn}
}

func (s *systemd) heard() string {
	s.t.Helper()
	buf := make([]byte, 4096)
	if err := s.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	n, err := s.conn.Read(buf)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(buf[:n])
}

// all returns what was heard so far: a datagram is there when its sender has sent it.
func (s *systemd) all() []string {
	s.t.Helper()
	if err := send("STATUS=last"); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for {
		text := s.heard()
		if text == "STATUS=last" {
			return all
		}
		all = append(all, text)
	}
}
