package round

import (
	"io"
	"time"
)

// Kind says who sent a submission.
type Kind string

// Kinds; a round is "<kind>-<n>", counted from 1 within a trial.
const (
	KindAgent  Kind = "agent"
	KindAuto   Kind = "auto"
	KindFinal  Kind = "final"
	KindManual Kind = "manual"
	KindGame   Kind = "game" // a session with a game server; it has no archive
	// KindPrivate is an archive of the trial once more, judged by the private set. Nobody
	// but the trial's verdict sees it.
	KindPrivate Kind = "private"
	// KindSanity is the untouched tree, judged before any agent works: is the task sound?
	// Nobody but who asked sees it.
	KindSanity Kind = "sanity"
	// KindMixed is an archive of the trial once more, judged with some hidden tests changed.
	// Nobody but the trial's verdict sees it.
	KindMixed Kind = "mixed"
)

// State is where a submission is in its life.
type State string

// States of a submission.
const (
	StateReserved State = "reserved" // round taken, archive not yet stored; gone after a crash
	StateQueued   State = "queued"   // accepted: on disk before it was acknowledged
	StateRunning  State = "running"
	StateJudged   State = "judged" // Report is set; exactly once
)

// Submission is one archive sent to the judge.
type Submission struct {
	ID         string // 16 hex digits
	Trial      string
	Try        int    // of the trial; budgets and the best round are a matter of one try
	Round      string // "agent-3"
	Number     int    // 3
	Kind       Kind
	Key        string // idempotency key; "" = none
	State      State
	Archive    string // SHA-256 of the cleaned, uncompressed tar: its blob
	Bytes      int64  // of that tar
	Dropped    int    // entries that cleaning left out
	ReservedAt time.Time
	AcceptedAt time.Time
	StartedAt  time.Time
	JudgedAt   time.Time
	Refunds    int    // failures of the machinery so far
	Mix        string `json:",omitempty"` // blob: hidden files that are laid in place of the image's own; "" = there are none
	Report     *Report
}

// Internal reports whether rounds of the kind tell about the task, or by another set of tests:
// they are no progress of anybody, no agent learns of them, they have no record of their own,
// and no other round shares their verdict.
func (k Kind) Internal() bool { return k == KindPrivate || k == KindSanity || k == KindMixed }

// SubmitRequest is one archive on its way in.
type SubmitRequest struct {
	Kind    Kind
	Key     string    // idempotency key within the trial's try and kind; "" = none
	Archive io.Reader // tar or tar.gz; read to its end mark. Nil holds nothing
	Mix     string    // as in Submission, from KeepMix; "" = the hidden files are the image's
	// SkipKnown asks that a tree which was accepted before in this try is not judged
	// again: Submit then returns that earlier submission and spends nothing.
	SkipKnown bool
}
