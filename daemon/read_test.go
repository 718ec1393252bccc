//go:build linux

package daemon_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/control"
)

// Who only asks must not be taken for a daemon, nor keep one out.
func TestCommandThatReadsIsNoDaemon(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
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
		"cancel":   second(reader.Cancel(t.Context(), control.Ask{Target: "run.quiet"})),
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

// What an earlier version left is brought up to date by a daemon, not by who only asks.
func TestAStateDirectoryOfAnEarlierVersionIsNotRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	db, err := sql.Open("sqlite", filepath.Join(w.state, "assayd.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 4")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := w.assayd("status")
	if code == 0 || stdout != "" || !strings.Contains(stderr, "schema version 4") || !strings.Contains(stderr, "start a daemon on it, which brings it up to date") {
		t.Errorf("it exits with %d and says %q, %q", code, stdout, stderr)
	}
}
