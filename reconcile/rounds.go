package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// TrialInfo is a trial without its rounds, of which there may be thousands.
type TrialInfo struct {
	ID        string       `json:"id"`
	Run       string       `json:"run"` // address
	Execution int          `json:"execution"`
	Task      string       `json:"task"`
	Agent     string       `json:"agent"`
	Model     string       `json:"model"`
	Attempt   int          `json:"attempt"`
	Mode      string       `json:"mode"` // iterative or single
	Try       int          `json:"try"`
	Phase     trial.Phase  `json:"phase"`
	Status    trial.Status `json:"status,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Detail    string       `json:"detail,omitempty"`
	Started   time.Time    `json:"started,omitzero"`
	Deadline  time.Time    `json:"deadline,omitzero"`
	Now       time.Time    `json:"now,omitzero"` // while the agent works: what the time is for the trial
	Ended     time.Time    `json:"ended,omitzero"`
	Best      string       `json:"best,omitempty"` // round
	Flags     []string     `json:"flags"`
	// What the try has spent on models, and what it may; absent = it asks none, or has no budget.
	Usage  *gateway.Usage  `json:"usage,omitempty"`
	Budget *gateway.Budget `json:"budget,omitempty"`
}

// TrialOf returns a trial of any execution; another is an ErrUnknown.
func (r *Reconciler) TrialOf(ctx context.Context, id string) (info TrialInfo, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		t, err := trialStatus(tx, s, nil)
		info = TrialInfo{
			ID: t.ID, Run: s.Spec, Execution: s.Execution, Task: t.Task, Agent: t.Agent, Model: t.Model, Attempt: t.Attempt, Mode: t.Mode,
			Try: t.Try, Phase: t.Phase, Status: t.Status, Reason: t.Reason, Detail: t.Detail, Started: t.Started, Deadline: t.Deadline,
			Now: t.Now, Ended: t.Ended, Best: t.Best, Flags: append([]string{}, t.Flags...), Usage: t.Usage, Budget: t.Budget,
		}
		return err
	})
	return info, err
}

// RoundInfo is one submission of a trial, whose report comes without tests.
type RoundInfo struct {
	N int `json:"n"` // in the order of all submissions
	Round
	Kind round.Kind `json:"kind"`
}

// RoundsAfter returns at most limit submissions of a trial behind the one numbered after, in the
// order in which they were made, also those that are in no number: of the private set, and of the
// untouched tree. A trial that is not known is an ErrUnknown.
func (r *Reconciler) RoundsAfter(ctx context.Context, id string, after, limit int) (infos []RoundInfo, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		rows, err := tx.SubmissionsAfter(id, after, limit)
		for _, row := range rows {
			sub, err := ledger.Decode(row)
			if err != nil {
				return err
			}
			infos = append(infos, RoundInfo{row.N, roundOf(s, sub), sub.Kind})
		}
		return err
	})
	return infos, err
}

// RoundOf returns one submission of a trial by the name of its round, such as agent-3. One that is
// not known is an ErrUnknown.
func (r *Reconciler) RoundOf(ctx context.Context, id, roundName string) (info RoundInfo, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		row, sub, err := history.KnownRound(tx, id, roundName)
		info = RoundInfo{row.N, roundOf(s, sub), sub.Kind}
		return err
	})
	return info, err
}

// TestInfo is one test of a round.
type TestInfo struct {
	N int `json:"n"` // its place in the report, from 1
	parser.Test
}

// TestsAfter returns at most limit tests of a round behind the one numbered after: of a status, ""
// being any, and with part of a name in whatever case. A round that is not known is an ErrUnknown,
// one without a verdict a *Conflict.
func (r *Reconciler) TestsAfter(ctx context.Context, id, roundName, status, name string, after, limit int) (infos []TestInfo, err error) {
	var sub round.Submission
	if err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		if _, err := history.KnownTrial(tx, id); err != nil {
			return err
		}
		_, known, err := history.KnownRound(tx, id, roundName)
		if err == nil {
			sub, err = ledger.Whole(tx, known.ID)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if sub.Report == nil {
		return nil, conflict("%s of %s: %w", roundName, id, errNotJudged)
	}
	name = strings.ToLower(name)
	for i, t := range sub.Report.Tests {
		if len(infos) == limit {
			break
		}
		if i >= after && (status == "" || string(t.Status) == status) && strings.Contains(strings.ToLower(t.Name), name) {
			infos = append(infos, TestInfo{i + 1, t})
		}
	}
	return infos, nil
}

// OutputPage is a part of what the judge command wrote in a round.
type OutputPage struct {
	Offset int64  `json:"offset"`         // of its first byte
	Next   int64  `json:"next,omitempty"` // offset of the next page; absent = this is the last one
	Size   int64  `json:"size"`           // of all of it, in bytes
	Text   string `json:"text"`           // what is no UTF-8 is U+FFFD
}

// OutputPageSize is how much of an output is in a page at most, in bytes.
const OutputPageSize = 64 << 10

// OutputAt reads a page of what the judge command wrote in a round, from a byte on. No character is
// in two pages. A round that is not known is an ErrUnknown, one without an output a *Conflict.
func (r *Reconciler) OutputAt(ctx context.Context, id, roundName string, offset int64) (page OutputPage, err error) {
	var sub round.Submission
	if err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		if _, err = history.KnownTrial(tx, id); err == nil {
			_, sub, err = history.KnownRound(tx, id, roundName)
		}
		return err
	}); err != nil {
		return page, err
	}
	if sub.Report == nil || sub.Report.Output == "" {
		return page, conflict("%s of %s has no output: no judge command has ended in it", roundName, id)
	}
	out, err := r.o.Host.OpenBlob(sub.Report.Output)
	if err != nil {
		return page, fmt.Errorf("read the output of %s of %s: %w", roundName, id, err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if page, err = pageAt(out, offset); err != nil {
		return page, fmt.Errorf("read the output of %s of %s: %w", roundName, id, err)
	}
	return page, nil
}

// pageAt reads a page of a text. A character that the page would cut is in the next one.
func pageAt(text io.Reader, offset int64) (page OutputPage, err error) {
	at, ok := text.(io.ReadSeeker)
	if !ok {
		return page, errors.New("it can only be read from its beginning")
	}
	if page.Size, err = at.Seek(0, io.SeekEnd); err != nil {
		return page, err
	}
	page.Offset = min(offset, page.Size)
	if _, err := at.Seek(page.Offset, io.SeekStart); err != nil {
		return page, err
	}
	part, err := io.ReadAll(io.LimitReader(at, OutputPageSize))
	if err != nil {
		return page, err
	}
	if end := page.Offset + int64(len(part)); end < page.Size {
		part = part[:len(part)-cutRune(part)]
		page.Next = page.Offset + int64(len(part))
	}
	page.Text = strings.ToValidUTF8(string(part), string(utf8.RuneError))
	return page, nil
}

// cutRune is how many bytes at the end begin a character and do not end it.
func cutRune(part []byte) int {
	for n := 1; n < utf8.UTFMax && n < len(part); n++ {
		if last := part[len(part)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
