package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/results"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/docker"
)

// appends are how many result lines are measured, after one that makes the file.
const appends = 300

// appending measures a result line on its way: from the effect that it reports until it is
// durable in its file, which takes the database's commit, the append and a flush. In turns
// with it, the same line is appended to two files by bare writes, with a flush and without.
func appending(ctx context.Context, _ options, _ *docker.Engine) (_ []result.Result, err error) {
	dir, err := os.MkdirTemp("", "append")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := store.Open(ctx, filepath.Join(dir, "state"), store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a := appender{
		store: s, ref: store.StreamRef{Spec: "run.bench", Root: dir, Path: filepath.Join(dir, "bench.run.bench.jsonl")},
		durable: make(chan time.Time, appends+1),
	}
	for name, file := range map[string]**os.File{"plain": &a.plain, "flushed": &a.flushed} {
		if *file, err = os.Create(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, (*file).Close()) }()
	}
	wctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- results.NewWriter(a.source(), results.Options{Dir: filepath.Join(dir, "aside")}).Run(wctx)
	}()
	m, err := a.measure(ctx)
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	const what = "a result line → durable in its file, the database's commit included"
	flushed := result.Compare("ms", m["written"], m["flushed"]).Called("append_flushed", what, "append and fsync of the line in a bare loop")
	flushed.Parts = m.Medians("committed", "then in the file")
	return []result.Result{
		flushed,
		result.Compare("ms", m["then in the file"], m["flushed"]).
			Called("append_writer", "the writer's part of it", "append and fsync of the line in a bare loop"),
		result.Compare("ms", m["written"], m["plain"]).Called("append_plain", what, "append of the line, not flushed"),
	}, nil
}

// appender appends lines in three ways.
type appender struct {
	store          *store.Store
	ref            store.StreamRef
	durable        chan time.Time // when lines were durable in their file
	plain, flushed *os.File
}

// source tells when the writer has made lines durable: that is what it marks.
func (a *appender) source() results.Source { return marking{ledger.Projection(a.store), a.durable} }

type marking struct {
	results.Source
	durable chan<- time.Time
}

// Mark implements results.Source.
func (m marking) Mark(ctx context.Context, streams []results.Stream) error {
	now := time.Now()
	err := m.Source.Mark(ctx, streams)
	m.durable <- now
	return err
}

func (a *appender) measure(ctx context.Context) (result.Samples, error) {
	m := result.Samples{}
	for n := range appends + 1 {
		took, err := a.once(ctx, n)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			m.Add(took)
		}
	}
	return m, nil
}

// once appends one line in each way. How long each took is in milliseconds.
func (a *appender) once(ctx context.Context, n int) (map[string]float64, error) {
	begun := time.Now()
	err := a.store.Do(ctx, func(tx *store.Tx) error {
		_, err := tx.AppendLine(a.ref, store.Envelope{Type: "submission"}, map[string]any{"round": n, "detail": prosaic})
		return err
	})
	if err != nil {
		return nil, err
	}
	committed := time.Now()
	var durable time.Time
	select {
	case durable = <-a.durable:
	case <-time.After(client.Patience):
		return nil, fmt.Errorf("line %d is not in its file", n)
	}
	line := fmt.Appendf(nil, `{"type":"submission","round":%d,"detail":%q}`+"\n", n, prosaic)
	plain, err := client.Timed(func() error { _, err := a.plain.Write(line); return err })
	if err != nil {
		return nil, err
	}
	flushed, err := client.Timed(func() error {
		_, err := a.flushed.Write(line)
		return errors.Join(err, a.flushed.Sync())
	})
	return map[string]float64{
		"written": result.Milliseconds(durable.Sub(begun)), "committed": result.Milliseconds(committed.Sub(begun)),
		"then in the file": result.Milliseconds(durable.Sub(committed)), "plain": plain, "flushed": flushed,
	}, err
}

// prosaic fills a line to about the length of a verdict's.
const prosaic = "twenty tests of forty passed, and the others will in the next round of this submission or in one after it"
