package trialview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/agentlog"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// Output is what the judge command wrote in a round of a trial, or of a session without
// one; the caller closes it.
func (r *Trials) Output(ctx context.Context, id, roundName string) (io.ReadCloser, error) {
	if err := request.NeedsContent(ctx, "outputs of tests"); err != nil {
		return nil, err
	}
	var all []round.Submission
	err := r.store.View(ctx, func(tx *store.Tx) (err error) {
		all, err = ledger.OfTrial(tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if _, err := history.ReadTrial(ctx, r.store, id); err != nil {
			return nil, err
		}
	}
	var rounds []string
	for _, x := range all {
		rounds = append(rounds, x.Round)
		if x.Round != roundName {
			continue
		}
		if x.Report == nil || x.Report.Output == "" {
			return nil, request.Conflictf("%s of %s has no output: no judge command has ended in it", roundName, id)
		}
		return r.openBlob(x.Report.Output)
	}
	if len(rounds) == 0 {
		return nil, history.Unknown("%s has no round; to see why: assayd submissions %s", id, id)
	}
	return nil, history.Unknown("%s has no round %q; its rounds are %s", id, roundName, strings.Join(rounds, ", "))
}

// OpenLog reads the log of a trial's try from offset on (agentlog.Read); try 0 is the last one.
// Over says that the try prints nothing more. While there is no log it is an error that is
// os.ErrNotExist.
func (r *Trials) OpenLog(ctx context.Context, id string, try int, offset int64) (log io.ReadCloser, end int64, over bool, err error) {
	if err := request.NeedsContent(ctx, "logs of agents"); err != nil {
		return nil, offset, false, err
	}
	err = r.store.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) {
			return history.UnknownTrial(tx, id)
		}
		if err != nil {
			return err
		}
		if try == 0 {
			try = row.Try
		}
		over = row.Status != "" || try < row.Try
		return nil
	})
	if err != nil {
		return nil, offset, false, err
	}
	log, end, err = agentlog.Read(trydir.Of(r.stateDir, id, try).Log(), offset)
	return log, end, over, err
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
// in two pages. A round that is not known is an ErrUnknown, one without an output a *request.Conflict.
func (r *Trials) OutputAt(ctx context.Context, id, roundName string, offset int64) (page OutputPage, err error) {
	if err := request.NeedsContent(ctx, "outputs of tests"); err != nil {
		return page, err
	}
	var sub round.Submission
	if err := r.store.View(ctx, func(tx *store.Tx) (err error) {
		if _, err = history.KnownTrial(tx, id); err == nil {
			_, sub, err = history.KnownRound(tx, id, roundName)
		}
		return err
	}); err != nil {
		return page, err
	}
	if sub.Report == nil || sub.Report.Output == "" {
		return page, request.Conflictf("%s of %s has no output: no judge command has ended in it", roundName, id)
	}
	out, err := r.openBlob(sub.Report.Output)
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
