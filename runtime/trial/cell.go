package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"time"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/task"
)

// Cell is one element of the product agents x models x tasks x attempts: everything that
// can change a verdict, and nothing else.
type Cell struct {
	Task        task.Task
	Agent       agent.Agent
	Attempt     int // from 1
	Mode        string
	Timeout     time.Duration // of the agent
	TestTimeout time.Duration
	AutoEval    time.Duration // 0 = off
	StopHook    bool
	Idle        int // 0 = go on to the deadline
	Resume      Resume
	Max         int           // agent submissions; 0 = no limit
	Cooldown    time.Duration // between two of them
	SanityCheck bool
	Each        gateway.Budget `json:",omitzero"` // of the trial
	Total       gateway.Budget `json:",omitzero"` // of its whole execution
}

// Resume says when an agent that ended is started again.
type Resume struct {
	Max        int
	MinRuntime time.Duration
	Backoff    time.Duration
	MaxBackoff time.Duration
}

// Key is the identity of the cell: hex SHA-256 of its canonical JSON. Titles and metadata
// do not count, nor what all trials of an execution may spend together: more of it makes no other
// trial. Neither do mixed runs: they look at what a trial has done.
func (c Cell) Key() string {
	sum := sha256.Sum256(c.canonical())
	return hex.EncodeToString(sum[:])
}

// FormerKey is the key that the first version gave the cell, which had in it what all trials of an execution may spend.
func (c Cell) FormerKey() string {
	sum := sha256.Sum256(c.encoded(c.Total))
	return hex.EncodeToString(sum[:])
}

// canonical is the JSON of what of the cell counts.
func (c Cell) canonical() []byte { return c.encoded(gateway.Budget{}) }

func (c Cell) encoded(total gateway.Budget) []byte {
	c.Task.Title, c.Task.Metadata, c.Total = "", nil, total
	c.Task.Judge.Decoys = 0
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("encode cell: %v", err)) // plain data always encodes
	}
	return b
}

// Keys returns Key of each attempt at what the cell is: what comes before its number is hashed once.
func (c Cell) Keys() func(attempt int) string {
	c.Attempt = 0
	b := c.canonical()
	head, tail, found := bytes.Cut(b, []byte(keysCut))
	if !found || bytes.Contains(tail, []byte(keysCut)) { // a value of the task looks like it
		return func(attempt int) string {
			c.Attempt = attempt
			return c.Key()
		}
	}
	before := sha256.New()
	before.Write(head)
	tail = bytes.Clone(tail) // so that the rest, which may be long, is not kept
	return func(attempt int) string {
		h, err := before.(hash.Cloner).Clone()
		if err != nil {
			panic(fmt.Sprintf("copy the state of SHA-256: %v", err)) // it has no such error
		}
		fmt.Fprintf(h, `,"Attempt":%d,"Mode":`, attempt)
		h.Write(tail)
		return hex.EncodeToString(h.Sum(nil))
	}
}

// keysCut is how the number of attempt 0 is written.
const keysCut = `,"Attempt":0,"Mode":`

// ID is a trial's name: "<run>.<execution>.<8 of the cell key>".
func ID(run string, execution int, key string) string { return idOf(run, execution, key[:8]) }

func idOf(run string, execution int, digits string) string {
	return fmt.Sprintf("%s.e%d.%s", run, execution, digits)
}

// IDs are the names that a trial can have: the first one unless another cell's trial has that, whose
// key begins alike, and so on. Of 100,000 cells about one pair has keys that do.
func IDs(run string, execution int, key string) (ids []string) {
	for digits := 8; digits <= min(len(key), 32); digits += 8 {
		ids = append(ids, idOf(run, execution, key[:digits]))
	}
	return ids
}
