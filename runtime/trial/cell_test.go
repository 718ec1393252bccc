package trial

import (
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/task"
)

// goldenCell has every kind of field that a key is made of.
func goldenCell() Cell {
	return Cell{
		Task: task.Task{
			Benchmark: "edge", Name: "one", Title: "One", Workdir: "/workspace", Instruction: "do it", Image: "python:1",
			Network: task.Network{Mode: "none"}, Submit: task.Submit{Paths: []string{"src/"}, MaxBytes: 1 << 30, MaxFiles: 9},
			Work:     task.Part{Context: task.Tree{Digest: "aa"}, Env: map[string]string{"B": "2", "A": "1"}, CPUs: 0.5, Memory: 1 << 30},
			Judge:    task.Judge{Command: task.Command{Shell: "true"}, Timeout: time.Minute, Parser: "pytest"},
			Metadata: map[string]string{"author": "me"},
		},
		Agent: agent.Agent{Name: "mine", Model: "m", Command: task.Command{Argv: []string{"work"}}}, Attempt: 1,
		Mode: "iterative", Timeout: time.Hour, Resume: Resume{Max: 100},
	}
}

// TestKeysAreStable: another key for the same cell would start every trial again when the
// daemon is upgraded. A field that is added must leave the keys of cells without it alone
// (omitempty, omitzero).
func TestKeysAreStable(t *testing.T) {
	const want = "7888c765da43b43807ddb1214be08c19b2dc5836781ca113ae8343ef00b5f1fc"
	if got := goldenCell().Key(); got != want {
		t.Errorf("the key is %s, it was %s", got, want)
	}
}

func TestTitlesAndMetadataAreNotInTheKey(t *testing.T) {
	a, b := goldenCell(), goldenCell()
	b.Task.Title, b.Task.Metadata = "Two", nil
	if a.Key() != b.Key() || b.Task.Title != "Two" || a.Task.Metadata == nil {
		t.Error("another title is another cell, or asking for the key changed the cell")
	}
}

func TestID(t *testing.T) {
	if got := ID("nightly", 3, "0123456789abcdef"); got != "nightly.e3.01234567" {
		t.Error(got)
	}
}

// The keys of attempts are those of the cells, whatever a value of the task looks like.
func TestKeysOfAttempts(t *testing.T) {
	for _, text := range []string{"", keysCut, `{"a":1,"Attempt":0,"Mode":"x"}`} {
		for _, env := range []map[string]string{nil, {"Attempt": "0"}} {
			c := Cell{Task: task.Task{Name: "a", Instruction: text}, Agent: agent.Agent{Name: "b", Env: env}, Mode: Single, Timeout: 1}
			key := c.Keys()
			for _, attempt := range []int{1, 2, 10, 99_999} {
				c.Attempt = attempt
				if got, want := key(attempt), c.Key(); got != want {
					t.Errorf("attempt %d of %q has key %s, not %s", attempt, text, got, want)
				}
			}
		}
	}
}
