//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

func TestInstallIsContentAddressedAndWhole(t *testing.T) {
	dir, self := t.TempDir(), filepath.Join(t.TempDir(), "assayd")
	write(t, self, "program")
	folder, err := Install(dir, self)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"); folder != want {
		t.Errorf("folder %s, want the SHA-256 of the program: %s", folder, want)
	}
	check := func() {
		t.Helper()
		for _, name := range []string{protocol.NameGuest, protocol.NameSubmit, protocol.NameSubmitSForge} {
			path := filepath.Join(folder, name)
			if got := read(t, path); got != "program" {
				t.Errorf("%s holds %q", name, got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	check()

	before, _ := os.Stat(filepath.Join(folder, protocol.NameGuest))
	if again, err := Install(dir, self); err != nil || again != folder {
		t.Errorf("second time: %s, %v", again, err)
	}
	if after, _ := os.Stat(filepath.Join(folder, protocol.NameGuest)); !os.SameFile(before, after) {
		t.Error("a whole copy was made anew under running guests")
	}

	killed := filepath.Join(dir, partialPrefix+"killed")
	if err := os.Mkdir(killed, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(killed, protocol.NameGuest), "prog") // an installation that was killed
	if _, err := Install(dir, self); err != nil {
		t.Fatal(err)
	}
	check()

	write(t, filepath.Join(folder, protocol.NameGuest), "prog") // a torn copy
	if _, err := Install(dir, self); err != nil {
		t.Fatal(err)
	}
	check()

	write(t, self, "new program")
	if other, err := Install(dir, self); err != nil || other == folder {
		t.Errorf("another program: %s, %v", other, err)
	}
	check()
}

func TestInstallAtTheSameTime(t *testing.T) {
	dir, self := t.TempDir(), filepath.Join(t.TempDir(), "assayd")
	write(t, self, "program")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			folder, err := Install(dir, self)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(filepath.Join(folder, protocol.NameSubmit)); err != nil || string(got) != "program" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestMainKnowsItsNames(t *testing.T) {
	for _, tt := range []struct {
		args    []string
		code    int
		handled bool
	}{
		{nil, 0, false},
		{[]string{"/usr/bin/assayd", "run"}, 0, false},
		{[]string{protocol.Program, "nop"}, 0, true},
		{[]string{protocol.Program}, 1, true},
		{[]string{protocol.Program, "dance"}, 1, true},
		{[]string{protocol.Program, "dial"}, 1, true}, // without an address
		{[]string{"/usr/local/bin/" + protocol.NameSubmitSForge, "--help"}, 0, true},
		{[]string{protocol.NameSubmit, "--nonsense"}, 1, true},
	} {
		if code, handled := Main(tt.args); code != tt.code || handled != tt.handled {
			t.Errorf("%v: %d, %v", tt.args, code, handled)
		}
	}
}
