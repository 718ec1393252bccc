//go:build linux

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The result file is a projection: whatever happens to it, it is whole again.
func TestADamagedResultFileIsMadeWholeAgain(t *testing.T) {
	t.Parallel()
	w, trial, _ := waiting(t)
	const file = "r.run.wait.jsonl"
	path := filepath.Join(w.specs, file)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again := func(what string) {
		t.Helper()
		w.until("the file is whole again after "+what, func() error {
			now, err := os.ReadFile(path)
			if err == nil && !bytes.HasPrefix(now, whole) {
				err = fmt.Errorf("it has %d bytes of %d", len(now), len(whole))
			}
			return err
		})
	}
	first := bytes.IndexByte(whole, '\n') + 1
	for what, damage := range map[string]func() error{
		"a removal":      func() error { return os.Remove(path) },
		"a shortening":   func() error { return os.Truncate(path, int64(first)) },
		"a torn tail":    func() error { return os.Truncate(path, int64(len(whole)-10)) },
		"being emptied":  func() error { return os.Truncate(path, 0) },
		"a torn restart": func() error { return os.Truncate(path, int64(first/2)) },
	} {
		w.kill()
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		w.serve()
		again(what)
	}
	if err := os.Remove(path); err != nil { // under a daemon that lives
		t.Fatal(err)
	}
	w.letGo(trial)
	again("a removal and a new record")
	w.settled("run.wait", patience)
	w.oneVerdictEach(w.history(file))

	// What somebody else wrote is never written over.
	w.kill()
	foreign := append([]byte(`{"v":1,"seq":1,"type":"forged"}`+"\n"), whole[first:]...)
	if err := os.WriteFile(path, foreign, 0o644); err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.until("the writer goes on elsewhere", func() error {
		if w.records("r.run.wait.2.jsonl") == nil {
			return errors.New("there is no second file")
		}
		return nil
	})
	if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, foreign) {
		t.Errorf("the foreign file was changed: %v", err)
	}
	w.noContainerIsLeft()
}
