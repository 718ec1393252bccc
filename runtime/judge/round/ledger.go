package round

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"syscall"
	"time"
)

// Ledger keeps submissions. Each method is one durable transaction; the implementation
// also reports a verdict to the results in the transaction that stores it.
type Ledger interface {
	// Reserve calls decide with all submissions of the trial, as Submissions returns them,
	// and stores what it returns, all in one transaction that sees whatever was stored
	// before. What decide returns takes the place of a submission with the same ID. An
	// error of decide is returned as it is and stores nothing.
	Reserve(ctx context.Context, trial string, decide func(past []Submission) (Submission, error)) (Submission, error)
	// Update loads a submission, applies change and stores it, in one transaction. An
	// error of change is returned as it is and stores nothing.
	Update(ctx context.Context, id string, change func(*Submission) error) (Submission, error)
	// Release forgets a reservation, so that what was rejected spends nothing.
	Release(ctx context.Context, id string) error
	// Submission returns one with the tests of its report, or an error for which
	// errors.Is(err, fs.ErrNotExist).
	Submission(ctx context.Context, id string) (Submission, error)
	// Submissions returns all of a trial in order of reservation. Their reports are without
	// Tests: those may be thousands for each round, and few ask for them.
	Submissions(ctx context.Context, trial string) ([]Submission, error)
}

// Blobs is a content-addressed store; digests are lower-case hex SHA-256.
type Blobs interface {
	// Create returns a writer of a new blob; nothing exists until Commit.
	Create() (BlobWriter, error)
	// Open returns the content, or an error for which errors.Is(err, fs.ErrNotExist).
	Open(digest string) (io.ReadCloser, error)
}

// BlobWriter writes one blob. Close without Commit throws it away.
type BlobWriter interface {
	io.Writer
	// Commit makes the blob durable and returns its digest and size.
	Commit() (digest string, size int64, err error)
	io.Closer
}

// Capacity is the machine's room for judging.
type Capacity interface {
	// TryJudge takes room for a judging, if there is some now; release gives it back.
	TryJudge(cpus float64, memory int64) (release func(), ok bool)
	// TryGame is TryJudge for a game, which lasts for hours: games never take all the room
	// that judgings wait for. It is ErrBusy where other games would have to end first.
	TryGame(cpus float64, memory int64) (release func(), ok bool, err error)
	// Changed returns a channel that is closed once there may be more room than at the call.
	Changed() <-chan struct{}
}

// ErrUnchanged makes an update of the ledger a look at it.
var ErrUnchanged = errors.New("unchanged")

// NewID returns 16 random hex digits.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Unwritable reports whether an error says that the judge's own disk is full, read-only or
// broken. No submission is to blame for that, and it is waited for.
func Unwritable(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO},
		func(cause error) bool { return errors.Is(err, cause) })
}

// Backoff is the pause before a try after so many that have failed.
func Backoff(tries int) time.Duration { return time.Second << min(tries, 4) }
