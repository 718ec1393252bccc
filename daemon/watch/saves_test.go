package watch

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/assayd/assayd/daemon/watch/watchtest"
)

// TestSavesOfEditorsAreSeen: whoever looks at each pulse ends up with what was saved.
func TestSavesOfEditorsAreSeen(t *testing.T) {
	for _, save := range watchtest.Saves() {
		t.Run(save.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir+"/a.hcl", "the first\n")
			looker := startLooker(t, Options{Roots: []string{dir}, Settle: 5 * time.Millisecond, Poll: time.Hour}, dir)
			for n := range 2 { // the second time with what the first left behind
				text := fmt.Sprintf("one more\nand %d again\n", n)
				save.Do(t, dir+"/a.hcl", text)
				if now, err := os.ReadFile(dir + "/a.hcl"); err != nil || string(now) != text {
					t.Fatalf("saved was %q (%v), want %q", now, err, text)
				}
				looker.await(text)
			}
		})
	}
}

func TestSwapsAreSeen(t *testing.T) {
	for _, tt := range []struct {
		name string
		root string
		swap func(t testing.TB, dir, n string)
	}{
		{"a ConfigMap", "", func(t testing.TB, dir, n string) {
			watchtest.Publish(t, dir, map[string]string{"a.hcl": n, "b.hcl": n})
		}},
		{"git-sync", "/link/team", func(t testing.TB, dir, n string) {
			watchtest.Swap(t, dir, "c0ffee"+n, map[string]string{"team/a.hcl": n, "team/deep/b.hcl": n})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			looker := startLooker(t, Options{Roots: []string{dir + tt.root}, Settle: 5 * time.Millisecond, Poll: time.Hour}, dir+tt.root)
			for _, n := range []string{"1", "2", "3", "4"} {
				tt.swap(t, dir, n)
				looker.await(n + n)
			}
		})
	}
}

// TestAFileSystemThatTellsNothingIsPolled: the files change behind a mounted file system, of
// which the kernel hears nothing.
func TestAFileSystemThatTellsNothingIsPolled(t *testing.T) {
	behind := t.TempDir()
	write(t, behind+"/team/a.hcl", "1")
	mute := watchtest.NewMute(t, behind)
	looker := startLooker(t, Options{Roots: []string{mute.Path}, Settle: time.Millisecond, Poll: 50 * time.Millisecond}, mute.Path)
	looker.await("1")
	write(t, behind+"/team/a.hcl", "2")
	looker.await("2")
	write(t, behind+"/team/new/b.hcl", "3")
	looker.await("23")
	remove(t, behind+"/team/a.hcl")
	looker.await("3")

	pulses := make(chan struct{})
	start(t, Options{Roots: []string{mute.Path}, Settle: time.Millisecond, Poll: time.Hour}, pulses)
	awaitPulse(t, pulses)
	write(t, behind+"/team/a.hcl", "4")
	looker.await("43") // who polls has seen it by now
	select {
	case <-pulses:
		t.Error("the file system did tell: this test shows nothing")
	default:
	}
}
