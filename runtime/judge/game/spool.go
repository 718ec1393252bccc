package game

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// transcriptFile is where the transcript of an open session is.
func (g *Games) transcriptFile(id string) string {
	return filepath.Join(g.spoolDir(), g.transcriptPrefix()+id)
}

func (g *Games) transcriptPrefix() string { return "game-" + filepath.Base(g.o.Host.Owner) + "-" }

func (g *Games) spoolDir() string {
	if g.o.Host.Spool == "" {
		return os.TempDir()
	}
	return g.o.Host.Spool
}

func (g *Games) removeTranscript(id string) {
	if err := os.Remove(g.transcriptFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.o.Host.Log.Warn("the file of a game's transcript is left over", "session", id, "error", err)
	}
}

// sweepTranscripts removes the files that a former daemon left of sessions which never
// began or have their verdicts. It must be over before a session begins. Those of the
// others are for orphaned.
func (g *Games) sweepTranscripts(ctx context.Context) {
	all, err := os.ReadDir(g.spoolDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.o.Host.Log.Warn("the transcripts of former games cannot be listed", "error", err)
	}
	for _, f := range all {
		id, ours := strings.CutPrefix(f.Name(), g.transcriptPrefix())
		if !ours || !f.Type().IsRegular() || len(id) != len(round.NewID()) {
			continue
		}
		sub, err := g.o.Ledger.Submission(ctx, id)
		if errors.Is(err, fs.ErrNotExist) || err == nil && sub.State != round.StateRunning {
			g.removeTranscript(id)
		}
	}
}

// Orphaned gives the verdict on a session that a former daemon had open: what it had
// stored, and what the transcript tells beyond that.
func (g *Games) Orphaned(ctx context.Context, sub round.Submission, why string) error {
	r := round.Failed(why)
	if sub.Report != nil {
		var err error
		if r, err = g.lastStanding(sub); err != nil {
			return err
		}
		r.Problem = why
		r.Summary += ": " + why
	}
	begun := sub
	begun.AcceptedAt = sub.StartedAt
	if err := g.o.Publish(ctx, begun, r); err != nil {
		return err
	}
	g.removeTranscript(sub.ID)
	return nil
}

// lastStanding is the report that the ledger has, with the transcript, brought up to its
// last line. It fails where a disk has no room for the transcript.
func (g *Games) lastStanding(sub round.Submission) (round.Report, error) {
	r := *sub.Report
	content, last, err := readTranscript(g.transcriptFile(sub.ID))
	if err != nil {
		g.o.Host.Log.Warn("the transcript of a game is lost", "session", sub.ID, "error", err)
		return r, nil
	}
	if stored := r.Metrics[scoring.MetricPeak]; last.PeakScore >= stored { // else the ledger knows of a later move
		t := g.o.Task(sub.Trial)
		n := standing{score: last.Score, peak: last.PeakScore, max: last.MaxScore, moves: last.Moves}
		scaled := r.Score100
		if r = n.report(t); n.peak == stored {
			r.Score100 = scaled
		}
	}
	if r.Output, err = keepTranscript(g.o.Blobs, bytes.NewReader(content)); round.Unwritable(err) {
		return r, fmt.Errorf("store the transcript of game %s: %w", sub.ID, err)
	} else if err != nil {
		g.o.Host.Log.Warn("the transcript of a game could not be stored", "session", sub.ID, "error", err)
	}
	return r, nil
}

// readTranscript returns the whole lines of a file whose writer may have been killed in the
// midst of one, and the last of them.
func readTranscript(name string) (content []byte, last transcribed, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, last, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err = io.ReadAll(io.LimitReader(f, 2*maxTranscript))
	if err != nil {
		return nil, last, fmt.Errorf("read the transcript of a game: %w", err)
	}
	for end := bytes.LastIndexByte(content, '\n'); end >= 0; end = bytes.LastIndexByte(content[:end], '\n') {
		begin := bytes.LastIndexByte(content[:end], '\n') + 1
		last = transcribed{}
		if json.Unmarshal(content[begin:end], &last) == nil {
			return content[:end+1], last, nil
		}
	}
	return nil, last, fmt.Errorf("read the transcript of a game: %w", io.ErrUnexpectedEOF)
}
