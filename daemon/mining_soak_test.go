//go:build soak

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Thirty random kill -9 while pull requests become tasks, with as many as so many kills take.
func TestSoakThirtyKillsOfMining(t *testing.T) {
	const kills = 30
	for made := 0; made < kills; {
		t.Run(fmt.Sprintf("from the kill %d on", made+1), func(t *testing.T) {
			n := hailOfMining(t, uint64(time.Now().UnixNano()), 2+(kills-made)/3, kills-made)
			if made += n; n == 0 {
				t.Fatal("nothing was killed")
			}
		})
		if t.Failed() {
			return
		}
	}
}

// Every bad pull request that one can think of is refused, each for what is wrong with it, and
// those that are good become tasks, with upstream's tests, with those that a model wrote, and with
// both. That lines come to end in CRLF is nothing that a fix does.
func TestSoakEveryBadPullRequestIsRejectedForTheRightReason(t *testing.T) {
	windows, made, few := onWindows("windows"), withoutTests("made"), withFewTests("few")
	q := rejectsTheBad(t, append(rejections(), invalid()...), windows, made, few)
	q.byteExact(windows)
	q.keepsUpstream(few)
}

// While it waits for more a spec tells of its progress, with what the model has counted.
func TestSoakProgressTellsWhatTheModelHasCounted(t *testing.T) {
	bad := rejection("passes") // after most has been paid for it
	q := newFakeForge(t, good("letters"), good("words"), bad)
	q.write("m.hcl", q.spec("max_tasks = 0", `every = "1h"`, "validation { repeats = 1 }"))
	q.serve()
	var told []lastWords
	q.untilWithin(10*time.Minute, "a record of progress tells that all is decided", func() error {
		told = told[:0]
		text, err := os.ReadFile(filepath.Join(q.specs, "m."+q.address()+".jsonl"))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var r lastWords
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if r.Type == "mining.progress" {
				told = append(told, r)
			}
		}
		if n := len(told); n == 0 || told[n-1].Seen == 0 || told[n-1].Open > 0 {
			return fmt.Errorf("%d records", n)
		}
		return nil
	})
	last := told[len(told)-1].Progress
	q.isTold(last, last.Usage)
	if last.Accepted != 2 || last.Rejected != 1 {
		t.Errorf("%+v", last)
	}
	for _, p := range told {
		q.costsOfEach(p.Progress)
	}
}
