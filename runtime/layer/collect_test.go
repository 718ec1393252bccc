package layer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// age has a folder be as if it had last been used before the grace.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-grace - time.Minute)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
}

func TestCollectRemovesWhatNobodyWantsOrUses(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(t.TempDir())
	layers := map[string]Layer{}
	for _, name := range []string{"wanted", "young", "unused", "asked", "busy"} {
		layers[name] = made(t, s, shop.sell(name, "1.0.0", packed(t, entry{name: "f", text: name})))
		if name != "young" {
			age(t, layers[name].Dir)
		}
	}
	asked, err := parseIntegrity(integrity(shop.archives["/asked/-/asked-1.0.0.tgz"]))
	if err != nil {
		t.Fatal(err)
	}
	if l := made(t, s, Package{Name: "asked", Version: "1.0.0", Integrity: asked.String()}); l != layers["asked"] {
		t.Fatalf("%+v", l)
	}
	unlock, err := s.tryLock(layers["busy"].Digest)
	if err != nil {
		t.Fatal(err)
	}
	oldWork, newWork, busyWork := s.work("old"), s.work("new"), s.work("busy")
	for _, work := range []string{oldWork, newWork, busyWork} {
		if err := errors.Join(os.Mkdir(work, 0o700), os.WriteFile(filepath.Join(work, "0.tgz"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	age(t, oldWork)
	age(t, busyWork)
	atWork, err := s.tryLock("busy")
	if err != nil {
		t.Fatal(err)
	}
	removed, err := s.Collect(t.Context(), func(digest string) bool { return digest == layers["wanted"].Digest })
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	atWork()
	if diff := cmp.Diff([]string{layers["unused"].Digest}, removed); diff != "" {
		t.Error(diff)
	}
	for name, l := range layers {
		if _, err := os.Stat(l.Dir); (err == nil) != (name != "unused") {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.workshop(), "*"))
	if diff := cmp.Diff([]string{busyWork, newWork}, slices.Sorted(slices.Values(left))); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
