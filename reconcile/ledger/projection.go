package ledger

import (
	"context"

	"github.com/assayd/assayd/reconcile/results"
	"github.com/assayd/assayd/reconcile/store"
)

// Projection is the store as the writer of the result files sees it.
func Projection(s *store.Store) results.Source { return projection{s} }

type projection struct{ store *store.Store }

func (p projection) Pulse() <-chan struct{} { return p.store.Lines() }

func (p projection) Streams(ctx context.Context, dirty bool) (streams []results.Stream, err error) {
	err = p.store.View(ctx, func(tx *store.Tx) error {
		list := tx.Streams
		if dirty {
			list = tx.DirtyStreams
		}
		rows, err := list()
		for _, row := range rows {
			streams = append(streams, results.Stream(row))
		}
		return err
	})
	return streams, err
}

// linesAtOnce bounds one reading of lines; the store also bounds their bytes.
const linesAtOnce = 4096

func (p projection) Lines(ctx context.Context, stream int64, seq int) (lines []results.Line, err error) {
	err = p.store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.LinesFrom(stream, seq, linesAtOnce)
		for _, row := range rows {
			lines = append(lines, results.Line(row))
		}
		return err
	})
	return lines, err
}

func (p projection) Mark(ctx context.Context, streams []results.Stream) error {
	return p.store.Do(ctx, func(tx *store.Tx) error {
		for _, s := range streams {
			if err := tx.MarkWritten(store.Stream(s)); err != nil {
				return err
			}
		}
		return nil
	})
}
