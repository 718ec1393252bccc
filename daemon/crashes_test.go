//go:build linux

package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// lap is one crash: the daemon is told where to die, something is done that leads there, and
// the next daemon has to put it right.
type lap struct {
	at    fault.Point
	start bool           // it dies while it starts
	lead  func(*crashes) // done before the start, or else while the daemon runs; nil = nothing
}

// crashes is a world whose daemon dies at one point after the other. Meanwhile agents work
// in it who must not notice.
type crashes struct {
	*vigil
	armed string // file that tells the daemon where to die
	torn  string // result file whose end is cut off after each crash
	extra int    // runs begun by laps
}

func newCrashes(t *testing.T) *crashes {
	t.Helper()
	w := newFixture(t)
	w.breakable()
	c := &crashes{vigil: w.vigil(), armed: filepath.Join(filepath.Dir(w.state), "armed")}
	c.crowded()
	w.env = append(w.env, "ASSAYD_FAULT_KILL_FILE="+c.armed)
	return c
}

// crowded has daemons admit more at once than a small machine is made for.
func (w *fixture) crowded() {
	w.Helper()
	w.configured("limits {\n  cpus   = 16\n  memory = \"16GiB\"\n  disk   = \"1TiB\"\n}\n")
}

// configured adds to the settings of the world's daemons.
func (w *fixture) configured(text string) {
	w.Helper()
	settings := filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	f, err := os.OpenFile(settings, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.Fatal(err)
	}
	if !slices.Contains(w.flags, settings) {
		w.flags = append(w.flags, "--config", settings)
	}
}

// through goes from crash to crash, and looks after each that nothing was lost or left.
func (c *crashes) through(laps []lap) {
	c.Helper()
	for _, l := range laps {
		began := time.Now()
		c.crash(l)
		c.look()
		c.damage()
		c.start()
		c.tidy()
		c.look()
		c.Logf("%-25s %5.1f s", l.at, time.Since(began).Seconds())
	}
}

// crash has the daemon die at the lap's point.
func (c *crashes) crash(l lap) {
	c.Helper()
	if l.start {
		c.kill()
	}
	if err := errors.Join(os.WriteFile(c.armed+".new", []byte(l.at), 0o600), os.Rename(c.armed+".new", c.armed)); err != nil {
		c.Fatal(err)
	}
	if l.lead != nil {
		l.lead(c)
	}
	if l.start {
		c.launched = time.Now()
		c.launch()
	}
	select {
	case <-c.daemon.exited:
	case <-time.After(3 * patience):
		c.Fatalf("the daemon never came to %q", l.at)
	}
	status, ok := c.daemon.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		c.Fatalf("the daemon was to die at %q and ended with %v", l.at, c.daemon.err)
	}
	c.daemon = nil
	if err := os.Remove(c.armed); err != nil {
		c.Fatal(err)
	}
}

// damage leaves what a crash in an unlucky moment leaves: half a line at the end of a
// result file, and temporary files of every kind.
func (c *crashes) damage() {
	c.Helper()
	path := filepath.Join(c.specs, c.torn)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if err := os.Truncate(path, info.Size()-info.Size()%97%40-1); err != nil {
			c.Fatal(err)
		}
	}
	for _, pattern := range temporary {
		name := strings.ReplaceAll(pattern, "*", "stray")
		if strings.HasPrefix(name, "spool/") {
			name = "spool/assayd-clean-stray"
		}
		if dir := filepath.Join(c.state, filepath.Dir(name)); strings.HasPrefix(name, "trials/") {
			continue // a folder of each trial, which is made anew or removed with it
		} else if err := os.MkdirAll(dir, 0o700); err != nil {
			c.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.state, name), []byte("half of"), 0o600); err != nil {
			c.Fatal(err)
		}
	}
}

// begun waits until the one trial of a run has started, and returns its id.
func (c *crashes) begun(file string) string {
	c.Helper()
	return c.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
}

// finished waits for the end of all runs and checks what they left in their files.
func (c *crashes) finished() {
	c.Helper()
	var files []string
	for _, name := range c.files() {
		if strings.Contains(name, ".run.") {
			files = append(files, name)
		}
	}
	c.settledWell(files...)
	if want := c.extra; len(files) < want {
		c.Errorf("there are results of %d runs, and laps began %d", len(files), want)
	}
}
