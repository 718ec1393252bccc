package specfiles

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

// look is one look: a time in milliseconds, the files of /root that are seen then,
// those that are held to be unknown, and when the next look is.
type look struct {
	at      int
	seen    string
	unknown string // without an entry and not seen = absent
	again   int    // 0 = not by itself
}

func TestPresence(t *testing.T) {
	for _, tt := range []struct {
		name    string
		known   string
		emptied []string
		looks   []look
	}{
		{"what is seen is there", "ab", nil, []look{{at: 0, seen: "ab"}}},
		{"one look is not enough to be absent", "ab", nil, []look{{0, "a", "b", 300}, {299, "a", "b", 300}, {300, "a", "", 0}}},
		{"what comes back was never gone", "ab", nil, []look{{0, "a", "b", 300}, {100, "ab", "", 0}, {400, "a", "b", 700}}},
		{"each file has its own time", "abc", nil, []look{{0, "ab", "c", 300}, {200, "a", "bc", 300}, {300, "a", "b", 500}, {500, "a", "", 0}}},
		{"most of a tree must stay away for a minute", "abcd", nil, []look{{0, "a", "bcd", 60_000}, {59_999, "a", "bcd", 60_000}, {60_000, "a", "", 0}}},
		{"half of it is not most", "abcd", nil, []look{{0, "ab", "cd", 300}, {300, "ab", "", 0}}},
		{"a few files are no tree", "abc", nil, []look{{0, "", "abc", 300}, {300, "", "", 0}}},
		{"an emptied root is held back however small", "a", []string{"/root"}, []look{{0, "", "a", 60_000}, {60_000, "", "", 0}}},
		{"a new file is no matter of presence", "", nil, []look{{at: 0, seen: "z"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewDeletionGuard(slog.New(slog.DiscardHandler))
			previous := config.Previous{}
			for _, name := range tt.known {
				path := fmt.Sprintf("/root/%c", name)
				previous[path] = config.Compiled{Path: path, Root: "/root"}
			}
			for _, l := range tt.looks {
				var found []config.Input
				for _, name := range l.seen {
					found = append(found, config.Input{Path: fmt.Sprintf("/root/%c", name)})
				}
				inputs, again := p.Settle(previous, found, tt.emptied, noon.Add(time.Duration(l.at)*time.Millisecond))
				var unknown []string
				for _, in := range inputs {
					if in.Unknown != "" {
						unknown = append(unknown, strings.TrimPrefix(in.Path, "/root/"))
					}
				}
				maps.DeleteFunc(previous, func(path string, _ config.Compiled) bool { // what is absent is forgotten
					return !slices.ContainsFunc(inputs, func(in config.Input) bool { return in.Path == path })
				})
				slices.Sort(unknown)
				if got := strings.Join(unknown, ""); got != l.unknown || len(inputs) != len(l.seen)+len(l.unknown) {
					t.Errorf("at %d ms %d inputs, of them unknown %q, want %q", l.at, len(inputs), got, l.unknown)
				}
				var want time.Time
				if l.again > 0 {
					want = noon.Add(time.Duration(l.again) * time.Millisecond)
				}
				if !again.Equal(want) {
					t.Errorf("at %d ms the next look is at %s, want %s", l.at, again, want)
				}
			}
		})
	}
}

// TestUnknownIsKept: what a scan could not read is neither missed nor absent, however long.
func TestUnknownIsKept(t *testing.T) {
	p := NewDeletionGuard(slog.New(slog.DiscardHandler))
	previous := config.Previous{"/root/a": {Path: "/root/a", Root: "/root"}}
	unread := []config.Input{{Path: "/root/a", Unknown: "permission denied"}}
	for _, after := range []time.Duration{0, time.Second, time.Hour} {
		inputs, again := p.Settle(previous, unread, nil, noon.Add(after))
		if len(inputs) != 1 || !again.IsZero() {
			t.Errorf("after %s: %v, look again %s", after, inputs, again)
		}
	}
	if inputs, _ := p.Settle(previous, nil, nil, noon.Add(2*time.Hour)); len(inputs) != 1 {
		t.Error("a file that was unknown is absent at the first look that misses it")
	}
}
