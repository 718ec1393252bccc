package snapshot

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/mining"
)

// Snapshot is the knowledge of the reconciler at the end of a turn. It does not change, so any goroutine
// may read it: together with the store it answers every question.
type Snapshot struct {
	Set      *config.Set // in force; nil = no look at the files has succeeded yet
	Previous config.Previous
	Blind    string                   // why the last look at the files failed
	runs     *iradix.Tree[RunView]    // by address: those that are declared, or were and are not forgotten
	minings  *iradix.Tree[MiningView] // by address
}

// RunView is a run in a snapshot.
type RunView struct {
	Address string
	Desired *plan.Run // nil = no file declares it
	File    string
	Note    string // what it waits for
	Stale   *plan.Stale
	Rerun   bool // another execution is asked for
	NoRoom  bool // there is no room on the machine for its next cell
}

// MiningView is a mining spec in a snapshot.
type MiningView struct {
	Address string
	Spec    *config.Mining // nil = no file declares it
	Miner   *mining.Miner  // nil = none works for it
	Note    string         // what it waits for
}

// Edit is the snapshot after another one, in the making.
type Edit struct {
	runs    *iradix.Txn[RunView]
	minings *iradix.Txn[MiningView]
}

// Edit begins the snapshot after s; that after nil is the first one.
func (s *Snapshot) Edit() *Edit {
	if s == nil {
		return &Edit{iradix.New[RunView]().Txn(), iradix.New[MiningView]().Txn()}
	}
	return &Edit{s.runs.Txn(), s.minings.Txn()}
}

// PutRun stores the view of a run, or deletes it where there is no such run any more, and reports whether
// that is a change.
func (e *Edit) PutRun(view RunView, is bool) (changed bool) {
	return putView(e.runs, view.Address, view, is)
}

// PutMining is PutRun for a mining spec.
func (e *Edit) PutMining(view MiningView, is bool) (changed bool) {
	return putView(e.minings, view.Address, view, is)
}

// Done returns the new snapshot, with what it has besides the views.
func (e *Edit) Done(set *config.Set, previous config.Previous, blind string) *Snapshot {
	return &Snapshot{Set: set, Previous: previous, Blind: blind, runs: e.runs.Commit(), minings: e.minings.Commit()}
}

func putView[V comparable](tree *iradix.Txn[V], address string, view V, is bool) bool {
	was, known := tree.Get([]byte(address))
	switch {
	case is && known && was == view, !is && !known:
		return false
	case is:
		tree.Insert([]byte(address), view)
	default:
		tree.Delete([]byte(address))
	}
	return true
}

// Runs are the views of all runs by address, in its order.
func (s *Snapshot) Runs() iter.Seq2[string, RunView] { return inOrder(s.runs, "") }

// RunsAfter are those whose address comes behind after.
func (s *Snapshot) RunsAfter(after string) iter.Seq2[string, RunView] { return inOrder(s.runs, after) }

// Minings are the views of all mining specs by address, in its order.
func (s *Snapshot) Minings() iter.Seq2[string, MiningView] { return inOrder(s.minings, "") }

// MiningsAfter are those whose address comes behind after.
func (s *Snapshot) MiningsAfter(after string) iter.Seq2[string, MiningView] {
	return inOrder(s.minings, after)
}

// inOrder are the entries of a tree behind an address, "" being none, by address.
func inOrder[V any](tree *iradix.Tree[V], after string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		it := tree.Root().Iterator()
		it.SeekLowerBound([]byte(after))
		for key, view, more := it.Next(); more; key, view, more = it.Next() {
			if string(key) != after && !yield(string(key), view) {
				return
			}
		}
	}
}

// Run is the view of a run; without one only its address is known.
func (s *Snapshot) Run(address string) RunView {
	if view, is := s.runs.Get([]byte(address)); is {
		return view
	}
	return RunView{Address: address}
}

// Knows reports whether an address is that of a run.
func (s *Snapshot) Knows(address string) bool {
	_, is := s.runs.Get([]byte(address))
	return is
}

// Mining is the view of a mining spec, and whether there is such a spec.
func (s *Snapshot) Mining(address string) (view MiningView, is bool) {
	return s.minings.Get([]byte(address))
}

// Mines reports whether an address is that of a mining spec.
func (s *Snapshot) Mines(address string) bool {
	_, is := s.minings.Get([]byte(address))
	return is
}

// Addresses are those of all runs, in order.
func (s *Snapshot) Addresses() (all []string) {
	for address := range s.Runs() {
		all = append(all, address)
	}
	return all
}

// Suggest says which run or mining spec was probably meant.
func (s *Snapshot) Suggest(name string) string {
	known := s.Addresses()
	for address := range s.Minings() {
		known = append(known, address)
	}
	return request.Suggest(name, known)
}
