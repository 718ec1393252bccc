package specfiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

// TestHalfAFileIsNotTakenForTheWhole looks at texts of some age, in milliseconds, after
// others were accepted.
func TestHalfAFileIsNotTakenForTheWhole(t *testing.T) {
	const a, b = "agent \"a\" { command = \"a\" }\n", "agent \"b\" { command = \"b\" }\n"
	const user = "run \"r\" {\n  tasks = [benchmark.x]\n  agent \"oracle\" {}\n}\n"
	type file struct {
		text string
		age  int
	}
	for _, tt := range []struct {
		name  string
		known map[string]string
		files map[string]file
		asked string
		want  string // addresses in force, and "!" with each file that is complained about
		again int    // from now; 0 = not by itself
	}{
		{"a text at rest is taken", nil, map[string]file{"f": {a, 100}}, "", "agent.a", 0},
		{"a very young one is not", nil, map[string]file{"f": {a, 99}}, "", "", 1},
		{"what was there before stays meanwhile", map[string]string{"f": a}, map[string]file{"f": {a + b, 40}}, "", "agent.a", 60},
		{"half a block is no mistake yet", map[string]string{"f": a}, map[string]file{"f": {a + b[:12], 400}}, "", "agent.a", 600},
		{"but one when it stays", map[string]string{"f": a}, map[string]file{"f": {a + b[:12], 1000}}, "", "agent.a !f", 0},
		{"an emptied file has lost nothing yet", map[string]string{"f": a + b}, map[string]file{"f": {"", 400}}, "", "agent.a agent.b", 600},
		{"nor one that ends early", map[string]string{"f": a + b}, map[string]file{"f": {a, 999}}, "", "agent.a agent.b", 1},
		{"it has when it stays so", map[string]string{"f": a + b}, map[string]file{"f": {a, 1000}}, "", "agent.a", 0},
		{"one that moved has gone nowhere", map[string]string{"f": a + b}, map[string]file{"f": {a, 200}, "g": {b, 200}}, "", "agent.a agent.b", 0},
		{"one that is in two files for a moment is no mistake", map[string]string{"f": a}, map[string]file{"f": {a, 5000}, "g": {a, 200}}, "", "agent.a", 800},
		{"a file whose other half is still to come waits", nil, map[string]file{"f": {user, 200}}, "", "", 800},
		{"files that depend on it wait with it", nil, map[string]file{"f": {a, 300}, "g": {user, 300}}, "", "agent.a", 700},
		{"a file of another clock is at rest", nil, map[string]file{"f": {a, -5000}}, "", "agent.a", 0},
		{"who asks has written it", nil, map[string]file{"f": {a[:12], 0}}, "f", "!f", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var old, inputs []config.Input
			for name, text := range tt.known {
				old = append(old, config.Input{Path: "/root/" + name, Root: "/root", Text: []byte(text)})
			}
			for name, f := range tt.files {
				changed := noon.Add(-time.Duration(f.age) * time.Millisecond)
				inputs = append(inputs, config.Input{Path: "/root/" + name, Root: "/root", Text: []byte(f.text), Changed: changed})
			}
			previous := config.Load(old, nil, config.Options{}).Accepted()
			whole := func(path string) bool { return path == "/root/"+tt.asked }
			set, again := Debounce{}.Load(inputs, previous, whole, config.Options{}, noon)
			if got := told(set); got != tt.want {
				t.Errorf("in force is %q, want %q", got, tt.want)
			}
			if got := again.Sub(noon).Milliseconds(); !again.IsZero() && got != int64(tt.again) || again.IsZero() && tt.again != 0 {
				t.Errorf("looks again in %d ms (%v), want %d", got, again.IsZero(), tt.again)
			}
		})
	}
}

// told is what a set says: addresses in force, then the files with an error.
func told(set *config.Set) string {
	words := map[string]bool{}
	for _, b := range set.All() {
		words[b.Address()] = true
	}
	out := slices.Sorted(maps.Keys(words))
	for _, f := range set.Files {
		if f.Status == config.Frozen || f.Status == config.Rejected {
			out = append(out, "!"+strings.TrimPrefix(f.Path, "/root/"))
		}
	}
	return strings.Join(out, " ")
}

// A file that is written all the time is looked at now and then as it is.
func TestAFileThatNeverRestsIsTakenAsItIs(t *testing.T) {
	w := Debounce{}
	var taken []int
	for at := 0; at < 12_000; at += 50 {
		now := noon.Add(time.Duration(at) * time.Millisecond)
		text := fmt.Sprintf("agent \"a\" { command = \"%d\" }\n", at)
		set, again := w.Load([]config.Input{{Path: "/root/f", Root: "/root", Text: []byte(text), Changed: now}}, nil, func(string) bool { return false }, config.Options{}, now)
		if len(set.All()) > 0 {
			taken = append(taken, at)
		} else if !again.Equal(now.Add(YoungText)) {
			t.Fatalf("held back at %d ms without another look: %v", at, again)
		}
	}
	if want := []int{5000, 10050}; !slices.Equal(taken, want) {
		t.Errorf("taken at %v ms, want %v", taken, want)
	}
}
