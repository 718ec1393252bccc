package judge

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// killed is a bench on which the daemon starts again that was killed as b is now.
func killed(t *testing.T, b *bench, torn string) *bench {
	t.Helper()
	spool := t.TempDir()
	if err := os.CopyFS(spool, os.DirFS(b.opts.Spool)); err != nil {
		t.Fatal(err)
	}
	for _, name := range spooled(t, spool) {
		f, err := os.OpenFile(filepath.Join(spool, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, torn); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := newGameBench(t, func(o *Options) {
		o.Ledger.(*memoryLedger).all = b.ledger.of("t")
		o.Spool = spool
	})
	synctest.Wait()
	return after
}

// spooled are the transcripts in a folder.
func spooled(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "game-") {
			names = append(names, f.Name())
		}
	}
	return names
}

func TestAKilledDaemonsSessionsAreJudgedByWhatWasPlayed(t *testing.T) {
	for name, torn := range map[string]string{"between moves": "", "within a line": `{"move":3,"action":"add`, "a disk that lost a page": "\x00\x00\n\x00"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := newGameBench(t)
				b.open("t", plays)
				id := b.begin(t, "t")
				b.move(t, "t", id, "add 30")
				b.move(t, "t", id, "add -20")
				after := killed(t, b, torn)
				after.open("t", plays)
				if w := after.move(t, "t", id, "add 1"); w.Code != 410 {
					t.Errorf("before it is judged: %d %s", w.Code, w.Body)
				}
				for range 2 {
					if err := after.Resume(t.Context(), after.ledger.of("t")); err != nil {
						t.Fatal(err)
					}
				}
				r := after.judged(t, id).Report
				if r.Status != StatusOK || *r.Score != 30 || r.PassRate != .3 || *r.Score100 != 60 || !strings.Contains(r.Problem, "daemon") ||
					r.Metrics["final_score"] != 10 || r.Metrics["moves"] != 2 || !strings.HasPrefix(r.Summary, "peak score 30 of 100, 2 moves: ") {
					t.Errorf("%+v", r)
				}
				lines := strings.Split(string(after.blobs.all[r.Output]), "\n")
				if len(lines) != 4 || !strings.Contains(lines[2], "add -20") || lines[3] != "" {
					t.Errorf("transcript %q", lines)
				}
				if left := spooled(t, after.opts.Spool); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
				if w := after.move(t, "t", id, "add 1"); w.Code != 410 || !strings.Contains(w.Body.String(), "peak score 30 of 100") || !strings.Contains(w.Body.String(), "daemon") {
					t.Errorf("then: %d %s", w.Code, w.Body)
				}
			})
		})
	}
}

func TestASessionWithoutItsTranscriptHasItsPeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		b.move(t, "t", id, "add 30")
		after := killed(t, b, "")
		if err := os.Remove(after.transcriptFile(id)); err != nil {
			t.Fatal(err)
		}
		if err := after.Abandon(t.Context(), "t", 1, "no daemon ran"); err != nil {
			t.Fatal(err)
		}
		if r := after.judged(t, id).Report; *r.Score != 30 || *r.Score100 != 60 || r.Output != "" {
			t.Errorf("%+v", r)
		}
	})
}

// TestTheLedgerMayKnowMore: a peak is stored before the move is written down.
func TestTheLedgerMayKnowMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		b.move(t, "t", id, "add 30")
		after := killed(t, b, "")
		if err := os.WriteFile(after.transcriptFile(id), []byte("{\"move\":0,\"score\":0,\"peak_score\":0,\"max_score\":100}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := after.Abandon(t.Context(), "t", 1, "no daemon ran"); err != nil {
			t.Fatal(err)
		}
		if r := after.judged(t, id).Report; *r.Score != 30 || r.Metrics["moves"] != 1 || r.Output == "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestOnlyTranscriptsOfOpenSessionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := func(digit string) string { return strings.Repeat(digit, 16) }
		spool := t.TempDir()
		own := "game-owner-of-tests-"
		for _, name := range []string{own + id("0"), own + id("1"), own + id("2"), own + id("3"), "game-another-" + id("0"), own + "x", "narrowed-x"} {
			if err := os.WriteFile(filepath.Join(spool, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		newGameBench(t, func(o *Options) {
			o.Spool = spool
			for digit, state := range map[string]State{"1": StateReserved, "2": StateRunning, "3": StateJudged} {
				l := o.Ledger.(*memoryLedger)
				l.all = append(l.all, Submission{ID: id(digit), Trial: "t", Kind: KindGame, State: state})
			}
		})
		synctest.Wait()
		if left, want := spooled(t, spool), []string{"game-another-" + id("0"), own + id("2"), own + "x"}; !slices.Equal(left, want) {
			t.Errorf("left: %q, want %q", left, want)
		}
	})
}

func TestAnEndedSessionLeavesNoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		if n := len(spooled(t, b.opts.Spool)); n != 1 {
			t.Errorf("%d transcripts of a session", n)
		}
		b.play(t, "t", id+"/close", "")
		a.behave("crash")
		b.play(t, "t", "new", "")
		if left := spooled(t, b.opts.Spool); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	})
}

func TestATranscriptIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "game")
	tr, err := newTranscript(name)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.drop()
	n := standing{observation: strings.Repeat("x", maxObservation), max: 100}
	for n.moves = range 100 {
		n.score, n.peak = float64(100-n.moves), 100
		tr.add("look", n)
	}
	blobs := newMemoryBlobs()
	digest, err := tr.commit(blobs)
	if err != nil {
		t.Fatal(err)
	}
	content := blobs.all[digest]
	last := `{"move":99,"action":"","observation":"","score":1,"peak_score":100,"max_score":100,"done":false,"moves":99,"cut":true}`
	if len(content) > maxTranscript+200 || !strings.HasSuffix(string(content), "}\n"+last+"\n") || bytes.Count(content, []byte(`"cut"`)) != 1 {
		t.Errorf("%d bytes, ending with %q", len(content), content[len(content)-200:])
	}
	onDisk, end, err := readTranscript(name)
	if err != nil || !bytes.Equal(onDisk, content) || end.Moves != 99 || end.Score != 1 {
		t.Errorf("the file has %d bytes and ends with %+v: %v", len(onDisk), end, err)
	}
}

// A move that finds no room waits in memory, and a session whose transcript finds none waits
// with its verdict.
func TestATranscriptWaitsForRoom(t *testing.T) {
	full := fullDisk(t)
	name := filepath.Join(t.TempDir(), "game")
	tr, err := newTranscript(name)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.drop()
	tr.add("first", standing{})
	sound := tr.file
	tr.file = full
	tr.add("second", standing{moves: 1})
	blobs := newMemoryBlobs()
	if _, err := tr.commit(blobs); !unwritable(err) {
		t.Errorf("on a full disk it is stored: %v", err)
	}
	tr.file = sound
	tr.add("third", standing{moves: 2})
	digest, err := tr.commit(blobs)
	if err != nil {
		t.Fatal(err)
	}
	var moves []string
	for line := range bytes.Lines(blobs.all[digest]) {
		var l transcribed
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		moves = append(moves, l.Action)
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(moves, want) {
		t.Errorf("stored are %q, want %q", moves, want)
	}
}

// fullDisk is a file that has no room.
func fullDisk(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// fullBlobs has no room for so many blobs.
type fullBlobs struct {
	Blobs
	left int
}

func (b *fullBlobs) Create() (BlobWriter, error) {
	if b.left--; b.left >= 0 {
		return nil, &fs.PathError{Op: "write", Path: "blob", Err: syscall.ENOSPC}
	}
	return b.Blobs.Create()
}

func TestAGamesVerdictWaitsForTheTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Blobs = &fullBlobs{o.Blobs, 3} })
		b.open("t", plays)
		id := b.begin(t, "t")
		b.play(t, "t", id+"/close", "")
		sub, err := b.Wait(t.Context(), id)
		if err != nil || sub.Report == nil || sub.Report.Output == "" {
			t.Errorf("the verdict is %+v, %v", sub.Report, err)
		}
	})
}
