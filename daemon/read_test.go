//go:build linux

package daemon_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
)

// Who only asks must not be taken for a daemon, nor keep one out.
func TestCommandThatReadsIsNoDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("r.hcl", w.benchmark()+w.run("quiet", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`))
	w.serve()
	w.kill() // leaves a socket and a write-ahead log
	reader, done, err := daemon.Read(t.Context(), &config.Settings{}, w.state, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Version(t.Context()); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("the control socket answers with %v", err)
	}
	for what, err := range map[string]error{
		"rerun":    second(reader.Rerun(t.Context(), "run.quiet")),
		"retry":    second(reader.Retry(t.Context(), "run.quiet")),
		"cancel":   reader.Cancel(t.Context(), "run.quiet"),
		"withdraw": reader.Withdraw(t.Context(), nil),
		"submit":   second(reader.Submit(t.Context(), []string{w.specs + "/r.hcl"})),
	} {
		if err == nil || !strings.Contains(err.Error(), "no daemon runs") {
			t.Errorf("%s by who only reads: %v", what, err)
		}
	}
	w.serve()
	if s, err := reader.Status(t.Context(), "run.quiet"); err != nil || s.Runs[0].State != "waiting" {
		t.Errorf("beside a daemon: %+v, %v", s, err)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	w.terminate()
}

func second[T any](_ T, err error) error { return err }
