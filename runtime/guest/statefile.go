package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/guest/safefile"
)

// memory is what a guest must still know after its container was stopped and started.
type memory struct {
	Trial    string
	Starts   int              // of the agent
	Deadline time.Time        // zero until the first Welcome
	NextSeq  int              // of the next event
	Events   []protocol.Event // those the daemon has not acknowledged, in order
	Tree     string           // hash at the last look
	Streaks  streaks
	Ended    string // reason, when the agent has ended for good
}

// stateFile keeps the memory in a file, replaced as a whole at each change. When it cannot
// be written, the memory goes on in the process and the next change writes it all.
type stateFile struct {
	path string

	mu     sync.Mutex
	memory memory
	added  chan struct{} // one token: there may be new events
}

// stateBytes bounds what is read back of the state file.
const stateBytes = 16 << 20

// openStateFile reads the state file in dir. What is unreadable, or another trial's, is
// forgotten; in the first case trouble says so.
func openStateFile(dir, trial string) (n *stateFile, trouble error) {
	n = &stateFile{path: filepath.Join(dir, "state.json"), added: make(chan struct{}, 1)}
	m, err := readMemory(n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		trouble = fmt.Errorf("read the guest's state: %w", err)
	}
	if err == nil && m.Trial == trial {
		n.memory = m
	}
	n.memory.Trial = trial
	n.memory.NextSeq = max(n.memory.NextSeq, 1)
	n.added <- struct{}{}
	return n, trouble
}

func readMemory(path string) (m memory, err error) {
	f, err := safefile.Open(path)
	if err != nil {
		return memory{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, stateBytes))
	if err != nil {
		return memory{}, err
	}
	return m, json.Unmarshal(text, &m)
}

// look returns the memory as it is now.
func (n *stateFile) look() memory {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.memory
	m.Events = slices.Clone(m.Events)
	return m
}

// update changes the memory and writes it. The change holds even if writing fails.
func (n *stateFile) update(change func(*memory)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.memory)
	select {
	case n.added <- struct{}{}:
	default:
	}
	text, err := json.Marshal(n.memory)
	if err != nil {
		return fmt.Errorf("encode the guest's state: %w", err)
	}
	if err := safefile.Replace(n.path, text); err != nil {
		return fmt.Errorf("write the guest's state: %w", err)
	}
	return nil
}

// add numbers an event and appends it to those that wait to be sent.
func (m *memory) add(e protocol.Event) {
	e.Seq = m.NextSeq
	m.NextSeq++
	m.Events = append(m.Events, e.Clipped())
}

// acknowledge forgets the events before next, and never uses a number below next again.
func (m *memory) acknowledge(next int) {
	m.Events = slices.DeleteFunc(m.Events, func(e protocol.Event) bool { return e.Seq < next })
	m.NextSeq = max(m.NextSeq, next)
}
