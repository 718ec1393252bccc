//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fill makes a folder that holds the files.
func (f *follower) fill(dir string, files map[string]string) {
	f.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *follower) rename(from, to string) {
	f.Helper()
	if err := os.Rename(from, to); err != nil {
		f.Fatal(err)
	}
}

// A root may come late, be moved away, come back, and be removed and made again, with all its
// parents: nothing that works is touched, and what is there in the end is what counts.
func TestARootComesAndGoes(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	top := f.specs
	f.at(filepath.Join(top, "x/y/specs"))
	f.serve()
	f.fill(f.specs, f.files())
	f.until("the late root is taken in", func() error {
		if f.generation() == "" {
			return errors.New("it is not")
		}
		return nil
	})
	f.terminate()
	f.work()

	missed := func() {
		t.Helper()
		for range 2 { // a look after it went, and one more
			if _, err := f.client.Rerun(t.Context(), "run.nothing"); err == nil {
				t.Error("a run that is not there is done again")
			}
		}
		f.untouched(f.bodies)
	}
	for what, away := range map[string]string{"the root": "x/y/specs", "its parents": "x"} {
		before := f.generation()
		away = filepath.Join(top, away)
		f.rename(away, away+"-away")
		missed()
		f.fill(filepath.Join(away+"-away", strings.TrimPrefix(f.specs, away)), f.files())
		f.rename(away+"-away", away)
		f.takenIn("that "+what+" came back", before)

		before = f.generation()
		if err := os.RemoveAll(away); err != nil {
			t.Fatal(err)
		}
		missed()
		f.fill(f.specs, f.files())
		f.takenIn("that "+what+" was made again", before)
	}
	f.finish()
}

// TestTenThousandFilesAtOnce: in a burst as a checkout makes it, with a trial at work, and away
// again, which is not believed at once.
func TestTenThousandFilesAtOnce(t *testing.T) {
	t.Parallel()
	const folders, each = 100, 100
	f := newFollower(t)
	f.write("r.hcl", f.next())
	f.work()
	name := func(i, j int) string { return fmt.Sprintf("%03d/%03d", i, j) }
	spec := func(i, j, parallel int) string {
		return f.run(fmt.Sprintf("r%d", i*each+j), []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`, fmt.Sprintf("parallel = %d", parallel))
	}
	files := map[string]string{}
	for i := range folders {
		for j := range each {
			files[name(i, j)+".hcl"] = spec(i, j, 1)
		}
	}
	f.fill(f.specs, files)
	written := time.Now()
	accepted := func(i, j, times int) {
		t.Helper()
		status := name(i, j) + ".status.jsonl" // the daemon's list of all specs is long to ask for often
		f.untilWithin(5*patience, status+" tells of the acceptance", func() error {
			if n := len(ofType("spec.accepted", f.records(status))); n != times {
				return fmt.Errorf("of %d", n)
			}
			return nil
		})
	}
	for i := range folders {
		accepted(i, 17, 1)
	}
	f.untouched(f.bodies)
	t.Logf("%d files: taken in %s after the last was written, %d MiB resident, %d at most", len(files),
		time.Since(written).Round(time.Millisecond), f.memory("VmRSS"), f.memory("VmHWM"))
	if most := f.memory("VmHWM"); most > 1024 {
		t.Errorf("the daemon took %d MiB", most)
	}

	// Most of the tree goes, the file of the trial among it.
	away := filepath.Join(filepath.Dir(f.state), "away")
	f.rename(filepath.Join(f.specs, "r.hcl"), filepath.Join(f.specs, "000", "r.moved"))
	f.rename(f.specs, away)
	f.fill(f.specs, map[string]string{"lonely.hcl": "locals {}\n"})
	f.until("the loss is noticed", func() error {
		if !strings.Contains(f.daemonLog(), "vanished at once") {
			return errors.New("the log does not say so")
		}
		return nil
	})
	f.untouched(f.bodies)
	for _, run := range []string{"run.wait", "run.r0", "run.r9999"} {
		if now, err := f.status(run); err != nil || now.Note == "no file declares it" {
			t.Errorf("of what vanished at once, %s is %+v, %v", run, now, err)
		}
	}
	if err := os.RemoveAll(f.specs); err != nil {
		t.Fatal(err)
	}
	f.rename(filepath.Join(away, "000", "r.moved"), filepath.Join(away, "r.hcl"))
	f.fill(away, map[string]string{name(99, 99) + ".hcl": spec(99, 99, 2)})
	f.rename(away, f.specs)
	accepted(99, 99, 2)
	f.untouched(f.bodies)
	if n := len(ofType("spec.rejected", f.records("099/099.status.jsonl"))); n > 0 {
		t.Errorf("%d rejections are recorded of a file without an error", n)
	}
}

// memory is a line of the daemon's /proc/PID/status, in MiB.
func (f *follower) memory(line string) int {
	f.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.daemon.cmd.Process.Pid))
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), line+":")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		f.Fatal(err)
	}
	return kib >> 10
}
