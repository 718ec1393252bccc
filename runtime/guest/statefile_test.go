//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

func TestTheStateFileIsReadBack(t *testing.T) {
	dir := t.TempDir()
	n, trouble := openStateFile(dir, "a")
	if trouble != nil {
		t.Fatal(trouble)
	}
	err := n.update(func(m *memory) {
		m.Starts = 2
		m.add(protocol.Event{Type: protocol.EventStarted})
		m.add(protocol.Event{Type: protocol.EventExited, Detail: strings.Repeat("é", protocol.MaxDetail)})
		m.acknowledge(2)
	})
	if err != nil {
		t.Fatal(err)
	}
	n, trouble = openStateFile(dir, "a")
	m := n.look()
	if trouble != nil || m.Starts != 2 || m.NextSeq != 3 || len(m.Events) != 1 || m.Events[0].Seq != 2 {
		t.Errorf("%+v, %v", m, trouble)
	}
	if got := len(m.Events[0].Detail); got > protocol.MaxDetail {
		t.Errorf("a detail of %d bytes is kept", got)
	}
	if n, _ := openStateFile(dir, "b"); n.look().Starts != 0 {
		t.Error("the memory of another trial was taken over")
	}
}

func TestABrokenStateFileIsATroubleAndNotTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	write(t, path, `{"Trial":"a","Starts":`)
	n, trouble := openStateFile(dir, "a")
	if trouble == nil || n.look().NextSeq != 1 {
		t.Errorf("%+v, %v", n.look(), trouble)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := n.update(func(m *memory) { m.Starts = 5 }); err == nil {
		t.Error("written to a folder that is gone")
	}
	if n.look().Starts != 5 {
		t.Error("what cannot be written is forgotten")
	}
}

func TestNumbersThatTheDaemonHasAreNotUsedAgain(t *testing.T) {
	var m memory
	m.acknowledge(7)
	m.add(protocol.Event{})
	if m.Events[0].Seq != 7 {
		t.Errorf("event %d", m.Events[0].Seq)
	}
}
