package game

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

func TestATranscriptIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "game")
	tr, err := newTranscript(name)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.drop()
	n := standing{observation: strings.Repeat("x", MaxObservation), max: 100}
	for n.moves = range 100 {
		n.score, n.peak = float64(100-n.moves), 100
		tr.add("look", n)
	}
	blobs := judgetest.NewBlobs()
	digest, err := tr.commit(blobs)
	if err != nil {
		t.Fatal(err)
	}
	content := blobs.All[digest]
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
	blobs := judgetest.NewBlobs()
	if _, err := tr.commit(blobs); !round.Unwritable(err) {
		t.Errorf("on a full disk it is stored: %v", err)
	}
	tr.file = sound
	tr.add("third", standing{moves: 2})
	digest, err := tr.commit(blobs)
	if err != nil {
		t.Fatal(err)
	}
	var moves []string
	for line := range bytes.Lines(blobs.All[digest]) {
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
