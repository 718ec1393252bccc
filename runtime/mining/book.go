package mining

import (
	"context"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// Book keeps what a miner must not forget. Each method is one durable transaction.
type Book interface {
	// Find takes in what a source told. What was seen before is passed over; what has a
	// rejection is decided. The mark, if it has a key, says how far the source has been read.
	Find(ctx context.Context, found []Found, mark Mark) error
	// Marks returns the marks whose keys begin so.
	Marks(ctx context.Context, prefix string) ([]Mark, error)
	// Open returns some of the open pull requests behind that place, in order.
	Open(ctx context.Context, after int64, limit int) ([]Candidate, error)
	// Decide ends open pull requests with their records, all or none of them, and forgets what
	// was answered about them, unless they may be taken up again. One that is decided stays as it is.
	Decide(ctx context.Context, all ...Decision) error
	// Answer returns what was kept about a pull request, "" being nobody's.
	Answer(ctx context.Context, pull, key string) (value []byte, ok bool, err error)
	// Keep keeps answers, all or none of them.
	Keep(ctx context.Context, answers ...Answer) error
	// Environment is how a repository with these lock files was installed and tested before,
	// nil if it never was.
	Environment(ctx context.Context, repo, lock string) (*workbench.Environment, error)
	KeepEnvironment(ctx context.Context, repo, lock string, e workbench.Environment) error
	Counts(ctx context.Context) (Counts, error)
	// Report appends a record that is about the spec as a whole. With one that has a method
	// Over() string the spec is over.
	Report(ctx context.Context, typ string, fields any) error
}

// Answer is what the outside has said about a pull request, "" being nobody's.
type Answer struct {
	Pull, Key string
	Value     []byte
}

// Found is a pull request that a source tells of.
type Found struct {
	Ref      github.Ref
	Rejected *reason.Rejected // nil = it may become a task
}

// Mark says how far a source has been read, in words that the source understands.
type Mark struct{ Key, Value string }

// Candidate is an open pull request.
type Candidate struct {
	Place int64 // grows with each that is found
	Ref   github.Ref
}

// Verdicts.
const (
	Accepted = "accepted"
	Rejected = "rejected" // it is not what is wanted
	Failed   = "failed"   // it could not be found out
)

// Decision is what became of a pull request.
type Decision struct {
	Ref             github.Ref
	Verdict         string
	Stage           string
	Reason          string // code; "" where it is accepted
	Detail          string
	Classification  string // easy, medium, hard; "" = not known
	DifficultyScore float64
	QualityScore    float64
	Reasoning       string
	Usage           gateway.Usage
	Duration        time.Duration
	Mined           *Mined // nil unless it is accepted
}

// Mined is a new task.
type Mined struct {
	Task     task.Task
	Dir      string // where it was written
	Language string
}

// Counts are the pull requests that were seen, by what became of them.
type Counts struct {
	Open     int
	Accepted map[string]int            // by classification
	Ended    map[string]map[string]int // rejected and failed ones: stage -> verdict -> number
	PerRepo  map[string]int            // accepted ones, by repository
}

// Total is how many tasks there are.
func (c Counts) Total() (n int) {
	for _, of := range c.Accepted {
		n += of
	}
	return n
}
