package specfiles

import (
	"context"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
)

// Copies copies folders that specs name, beside the loop and each once. The loop is told when copies
// are there that it asked for in vain. It may be used by any goroutine.
type Copies struct {
	copy func(dir string) (digest string, err error)
	came func(context.Context) // has the loop look at the specs again
	wake chan struct{}         // holds one value while there may be one in line

	mu    sync.Mutex
	all   map[string]*folderCopy // by folder
	line  []string               // folders
	under int                    // how many are being copied
	owed  bool                   // the loop asked for one that was not there
}

// folderCopy is a folder of which a copy was made, or is to be.
type folderCopy struct {
	lay    string // how the folder lay before it was copied
	busy   bool   // somebody changed it each time that it was copied
	digest string
	err    error
	at     time.Time     // when that was; zero = never
	next   chan struct{} // closed when the next copy is there; nil = none is asked for
}

// How folders are copied.
const (
	Packers   = 2                // at once
	packAgain = 5 * time.Second  // after which a folder that could not be read is tried again
	packedFor = 30 * time.Minute // how long a copy is known: nobody collects a blob before, see retention.OrphanedFor
	packTries = 3                // copies of a folder that changes meanwhile
)

// NewCopies returns one that has copied nothing. came is called when copies are there that the loop asked for in
// vain.
func NewCopies(snapshot func(dir string) (string, error), came func(context.Context)) *Copies {
	return &Copies{copy: snapshot, came: came, wake: make(chan struct{}, 1), all: map[string]*folderCopy{}}
}

// known is what is known of a folder as it lies, with mu held. Of one that changes all the time a copy is
// good for a moment: the specs note how it lay, and that it was changed since is seen as at any time.
func (k *Copies) known(dir, lay string) (p *folderCopy, ok bool) {
	p = k.all[dir]
	if p == nil {
		p = &folderCopy{}
		k.all[dir] = p
	}
	age := time.Since(p.at)
	return p, !p.at.IsZero() && (p.lay == lay && age < packedFor || p.busy && age < packAgain)
}

// ask has a folder copied, with mu held.
func (k *Copies) ask(dir string, p *folderCopy) (there <-chan struct{}) {
	if p.next == nil {
		p.next = make(chan struct{})
		k.line = append(k.line, dir)
		k.nudge()
	}
	return p.next
}

func (k *Copies) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Snapshot is config.Options.Snapshot for the loop: a copy that is there or comes within its patience.
func (k *Copies) Snapshot(dir string, patience time.Time) (digest string, err error) {
	for {
		lay := config.Lay(dir)
		k.mu.Lock()
		p, ok := k.known(dir, lay)
		if ok && p.err != nil && time.Since(p.at) > packAgain {
			k.ask(dir, p) // until it is known better, it cannot be read
			k.owed = true
		}
		if ok {
			defer k.mu.Unlock()
			return p.digest, p.err
		}
		there := k.ask(dir, p)
		k.owed = true
		k.mu.Unlock()
		select {
		case <-there:
		case <-time.After(time.Until(patience)):
			return "", config.ErrPending
		}
	}
}

// Lay is how a folder lay before its copy was made.
func (k *Copies) Lay(dir string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.all[dir]; p != nil {
		return p.lay
	}
	return ""
}

// Wait has folders copied for a request and waits until all are there as they are now.
func (k *Copies) Wait(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		lay := config.Lay(dir)
		k.mu.Lock()
		p, ok := k.known(dir, lay)
		var there <-chan struct{}
		if !ok {
			there = k.ask(dir, p)
		}
		k.mu.Unlock()
		if ok {
			continue
		}
		select {
		case <-there: // as it is, or why not; the look that follows finds out
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Run copies what is asked for until the context ends.
func (k *Copies) Run(ctx context.Context) {
	for {
		k.mu.Lock()
		if len(k.line) == 0 {
			k.mu.Unlock()
			select {
			case <-k.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		dir := k.line[0]
		k.line = k.line[1:]
		k.under++
		if len(k.line) > 0 {
			k.nudge()
		}
		k.mu.Unlock()
		done := k.pack(dir)
		k.mu.Lock()
		k.put(dir, done)
		k.under--
		tell := k.owed && len(k.line) == 0 && k.under == 0 // all at once: each look is at all files
		k.owed = k.owed && !tell
		k.mu.Unlock()
		if tell {
			k.came(ctx)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// pack copies a folder, and again where somebody changed it meanwhile.
func (k *Copies) pack(dir string) (done folderCopy) {
	for range packTries {
		done = folderCopy{lay: config.Lay(dir)}
		done.digest, done.err = k.copy(dir)
		if done.busy = config.Lay(dir) != done.lay; !done.busy {
			break
		}
	}
	done.at = time.Now()
	return done
}

// put notes a copy and tells those who wait, with mu held. It forgets what nobody asked for lately.
func (k *Copies) put(dir string, done folderCopy) {
	p := k.all[dir]
	close(p.next)
	*p = done
	for other, p := range k.all {
		if p.next == nil && time.Since(p.at) > packedFor {
			delete(k.all, other)
		}
	}
}
