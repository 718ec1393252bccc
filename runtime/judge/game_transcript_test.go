package judge

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// killed is a bench on which the daemon starts again that was killed as b is now.
func killed(t *testing.T, b *fixture, torn string) *fixture {
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
		o.Ledger.(*judgetest.Ledger).All = b.ledger.Of("t")
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
					if err := after.Resume(t.Context(), after.ledger.Of("t")); err != nil {
						t.Fatal(err)
					}
				}
				r := after.judged(t, id).Report
				if r.Status != round.StatusOK || *r.Score != 30 || r.PassRate != .3 || *r.Score100 != 60 || !strings.Contains(r.Problem, "daemon") ||
					r.Metrics["final_score"] != 10 || r.Metrics["moves"] != 2 || !strings.HasPrefix(r.Summary, "peak score 30 of 100, 2 moves: ") {
					t.Errorf("%+v", r)
				}
				lines := strings.Split(string(after.blobs.All[r.Output]), "\n")
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
		if err := os.Remove(filepath.Join(after.opts.Spool, "game-owner-of-tests-"+id)); err != nil {
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
		if err := os.WriteFile(filepath.Join(after.opts.Spool, "game-owner-of-tests-"+id), []byte("{\"move\":0,\"score\":0,\"peak_score\":0,\"max_score\":100}\n"), 0o600); err != nil {
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
			for digit, state := range map[string]round.State{"1": round.StateReserved, "2": round.StateRunning, "3": round.StateJudged} {
				l := o.Ledger.(*judgetest.Ledger)
				l.All = append(l.All, round.Submission{ID: id(digit), Trial: "t", Kind: round.KindGame, State: state})
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
