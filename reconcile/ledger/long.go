package ledger

import (
	"slices"
	"sync"

	"github.com/assayd/assayd/runtime/judge/round"
)

// Bounds of the lists of submissions that are kept in memory.
const (
	longList     = 64 // shorter ones are read from the store as quickly
	maxLongLists = 16
)

// longLists are the submissions of trials that have many, as the store has them: to judge or
// refuse the ten thousandth of a trial, nobody should read ten thousand rows. A list that is
// kept is never changed, only replaced, by the one who writes.
type longLists struct {
	least int // of submissions: shorter ones are not kept
	mu    sync.Mutex
	all   map[string][]round.Submission
}

// list is what a transaction made of the submissions of a trial; nil = that is not known.
type list struct {
	trial string
	subs  []round.Submission
}

// get returns a list, or nil. It belongs to all who got it.
func (l *longLists) get(trial string) []round.Submission {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[trial]
}

func (l *longLists) keep(changed list) {
	if len(changed.subs) < l.least {
		l.forget(changed.trial)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string][]round.Submission{}
	}
	if _, there := l.all[changed.trial]; !there && len(l.all) >= maxLongLists {
		for other := range l.all { // any
			delete(l.all, other)
			break
		}
	}
	l.all[changed.trial] = changed.subs
}

func (l *longLists) forget(trial string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, trial)
}

// lacking returns a list that lacks one submission.
func lacking(subs []round.Submission, id string) []round.Submission {
	return slices.DeleteFunc(slices.Clone(subs), func(s round.Submission) bool { return s.ID == id })
}

// replacing returns a list that has another version of one of its submissions.
func replacing(subs []round.Submission, by round.Submission) []round.Submission {
	subs = slices.Clone(subs)
	for i := range subs {
		if subs[i].ID == by.ID {
			subs[i] = by
		}
	}
	return subs
}
