//go:build linux

package daemon_test

import (
	"encoding/json"
	"os/user"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/runtime/fault"
)

// ofHolds are the points of setting and lifting a hold: before it is stored with its record, and after.
var ofHolds = []lap{{at: fault.HoldWritten}, {at: fault.HoldStored}}

// ofNotes are those of notes and tags.
var ofNotes = []lap{{at: fault.NoteWritten}, {at: fault.NoteStored}}

// Wherever the daemon is killed while it holds or notes something, that and its record are there both or neither, and
// who asks again gets both once.
func TestACrashLosesAndDoublesNoHold(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	c.write("r.hcl", c.benchmark()+c.run("held", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`, "parallel = 3"))
	c.start()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		verb, stream string
		action       string
		state        string
	}{
		{"pause run.held --reason incident", "run.held", control.Pause, control.Paused},
		{"throttle run.held 2", "run.held", control.Throttle, control.Paused},
		{"resume run.held", "run.held", control.Resume, control.Throttled},
		{"throttle run.held off", "run.held", control.Lift, control.Open},
		{"pause all", "control", control.Pause, control.Paused},
		{"resume all", "control", control.Resume, control.Open},
		{"note run.held incident", "run.held", control.AddNote, control.AddNote},
		{"tag run.held suspect", "run.held", control.AddTag, control.AddTag},
		{"untag run.held suspect", "run.held", control.RemoveTag, control.RemoveTag},
	} {
		laps := ofHolds
		if tt.action == tt.state {
			laps = ofNotes
		}
		args := append(strings.Fields(tt.verb), "--json")
		for _, l := range laps {
			l.lead = func(c *crashes) {
				if out, _, code := c.assayd(args...); code == 0 {
					t.Errorf("%s was answered by a daemon that was killed: %s", tt.verb, out)
				}
			}
			c.crash(l)
			c.start()
			var got control.Changed
			if err := json.Unmarshal([]byte(c.ok(append(args, "--dry-run")...)), &got); err != nil {
				t.Fatal(err)
			}
			if stored := l.at == fault.HoldStored || l.at == fault.NoteStored; got.Changed == stored || got.State != tt.state {
				t.Errorf("%s, killed at %q: asked again it is %+v", tt.verb, l.at, got)
			}
		}
		if out := c.ok(args...); !strings.Contains(out, `"changed": false`) {
			t.Errorf("%s, repeated: %s", tt.verb, out)
		}
		n := 0
		for line := range strings.Lines(c.ok("results", tt.stream)) {
			var r struct {
				Type string
				control.Record
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if (r.Type == "control" || r.Type == "note") && r.Action == tt.action {
				if n++; r.By != me.Username || r.Via != control.CLI {
					t.Errorf("%s is by %s via %s, want %s via cli", tt.verb, r.By, r.Via, me.Username)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s has %d records", tt.verb, n)
		}
	}
	c.recorded("assayd.control.jsonl", "what is held of the whole host", func(r record) bool { return r.Type == "control" && r.Spec == "all" })
	c.over()
}
