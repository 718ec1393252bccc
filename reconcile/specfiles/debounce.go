package specfiles

import (
	"maps"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
)

// Debounce holds back files that somebody may still be writing, so that half a file is
// neither taken for the whole nor complained about: what was accepted of it before stays. It
// says of each since when.
type Debounce map[string]time.Time

// A file is held back while it is very young, and for longer while it looks like the
// beginning of another: with an error, or without a block that was there before.
const (
	YoungText   = 100 * time.Millisecond // as long as folders must be quiet before anybody looks
	youngDoubt  = time.Second
	longestHold = 5 * time.Second // one that never comes to rest is taken as it is
)

// Load compiles the inputs without those that are held back. It returns when to look again,
// zero for not by itself.
func (w Debounce) Load(inputs []config.Input, previous config.Previous, whole func(path string) bool, o config.Options, now time.Time) (set *config.Set, again time.Time) {
	held := map[string]bool{}
	hold := func(in config.Input, age time.Duration) {
		until := in.Changed.Add(age)
		if whole(in.Path) || in.Changed.After(now) || !now.Before(until) { // a clock ahead of ours tells no age
			return
		}
		since, ok := w[in.Path]
		if !ok {
			since = now
			w[in.Path] = now
		}
		if now.Sub(since) < longestHold {
			held[in.Path] = true
			again = Sooner(again, until)
		}
	}
	for _, in := range inputs {
		hold(in, YoungText)
	}
	for before := -1; before < len(held); {
		before = len(held)
		set = config.Load(without(inputs, held, previous), previous, o)
		doubted := doubts(set, previous)
		for _, in := range inputs {
			if doubted[in.Path] && !held[in.Path] {
				hold(in, youngDoubt)
			}
		}
	}
	maps.DeleteFunc(w, func(path string, _ time.Time) bool { return !held[path] })
	return set, again
}

// without is the inputs with those kept as they were that are held back; of one that was
// never accepted nothing is known yet.
func without(inputs []config.Input, held map[string]bool, previous config.Previous) []config.Input {
	left := slices.Clone(inputs)
	for i, in := range left {
		left[i].Kept = in.Kept || held[in.Path]
	}
	return slices.DeleteFunc(left, func(in config.Input) bool {
		_, known := previous[in.Path]
		return held[in.Path] && !known
	})
}

// doubts are the files with an error, and those of which a block is gone that no other
// file declares.
func doubts(set *config.Set, previous config.Previous) map[string]bool {
	there := map[string]bool{}
	for _, b := range set.All() {
		there[b.Address()] = true
	}
	doubted := map[string]bool{}
	for _, f := range set.Files {
		last := previous[f.Path].Blocks
		doubted[f.Path] = f.Status == config.Frozen || f.Status == config.Rejected ||
			slices.ContainsFunc(last.Addresses(), func(address string) bool { return !there[address] })
	}
	return doubted
}
