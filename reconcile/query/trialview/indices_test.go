package trialview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

const (
	longSteps    = 2000
	longStepSize = 4 << 10 // bytes
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// longTranscript lays a transcript of eight megabytes beside a trial, and returns the trial.
func longTranscript(t *testing.T, s *store.Store) (id string) {
	t.Helper()
	historytest.Plant(t, s, 1)
	check(t, s.View(t.Context(), func(tx *store.Tx) error {
		return tx.EachCellShort("run.r", 1, func(c store.CellShort) error { id = c.Trial; return nil })
	}))
	path := trydir.Of(s.Dir(), id, 1).Transcript()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	w, err := transcript.Create(path, 1<<30)
	check(t, err)
	text := strings.Repeat("x", longStepSize)
	for i := range longSteps {
		at := noon.Add(time.Duration(i) * time.Second)
		n, err := w.Begin(at, transcript.Completions, "m", false, map[string]json.RawMessage{"messages": fmt.Appendf(nil, `[{"role":"user","content":"%d %s"}]`, i, text)})
		check(t, err)
		check(t, w.End(at, n, transcript.Response{Status: 200, Reply: &transcript.Reply{Text: "said"}}))
	}
	check(t, w.Close())
	return id
}

// running has a reader make what is asked for, until the function that is returned is called.
func running(t *testing.T, r *Trials) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { r.indices.run(ctx) })
	for !r.indices.runs.Load() {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	return func() { cancel(); all.Wait() }
}

// The first reading of a long transcript goes on while pages say how far it is, and is done once for all who ask.
func TestTheFirstReadingOfALongTranscriptKeepsNobodyWaiting(t *testing.T) {
	s := storetest.Open(t)
	r, id := New(Options{Store: s, StateDir: s.Dir(), OpenBlob: s.Blobs().Open}), longTranscript(t, s)
	defer running(t, r)()
	middle := StepQuery{From: longSteps / 2, Limit: 3, Within: 1}
	p, err := r.Steps(t.Context(), id, middle)
	check(t, err)
	if !p.Reading || p.Read < 0 || p.Read > 1 || len(p.Steps) > 0 {
		t.Fatalf("at first: %+v", p)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			asked := middle
			asked.Within = time.Minute
			p, err := r.Steps(t.Context(), id, asked)
			check(t, err)
			if p.Reading || p.All != longSteps || len(p.Steps) != 3 || p.Steps[0].N != longSteps/2+1 {
				t.Errorf("when it is read: %d of %d steps, reading %v", len(p.Steps), p.All, p.Reading)
			}
		})
	}
	all.Wait()
	if p, err := r.Steps(t.Context(), id, middle); err != nil || p.Reading || len(p.Steps) != 3 {
		t.Errorf("once it is read: %+v, %v", p, err)
	}
	if len(r.indices.jobs) > 0 {
		t.Errorf("%d more readings are to come", len(r.indices.jobs))
	}
}

// A reading ends with who makes it, and goes on from there where another one asks.
func TestAReadingEndsWithItsReader(t *testing.T) {
	s := storetest.Open(t)
	r, id := New(Options{Store: s, StateDir: s.Dir(), OpenBlob: s.Blobs().Open}), longTranscript(t, s)
	end := running(t, r)
	if p, err := r.Steps(t.Context(), id, StepQuery{Limit: 3, Within: 1}); err != nil || !p.Reading {
		t.Fatalf("%+v, %v", p, err)
	}
	end()
	p, err := r.Steps(t.Context(), id, StepQuery{Limit: 3, Within: 1}) // which reads by itself then
	if err != nil || p.Reading || p.All != longSteps {
		t.Errorf("of %d steps, reading %v: %v", p.All, p.Reading, err)
	}
}

// No more readings wait than there is room for indices, and whoever goes away waits no longer.
func TestReadingsAreBounded(t *testing.T) {
	x := newIndices()
	x.runs.Store(true) // and yet nobody makes any
	for n := range 3 * maxIndices {
		path := fmt.Sprint(n)
		if soon, err := x.await(t.Context(), path, x.of(path), 1<<30, 1); soon || err != nil {
			t.Errorf("reading %d: %v, %v", n, soon, err)
		}
	}
	if len(x.jobs) != maxIndices || len(x.all) != maxIndices {
		t.Errorf("%d readings wait for %d indices", len(x.jobs), len(x.all))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	<-x.jobs
	if _, err := x.await(gone, "a", x.of("a"), 1<<30, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever went away: %v", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
