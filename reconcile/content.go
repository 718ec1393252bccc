package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
)

// content is what an execution is done with: spec files as they were compiled with the content
// that there was when it began. A later layer is that of tasks that were pinned again.
type content struct {
	N      int // of the execution
	Layers []layer
}

// layer are files with their content. The first one is that of all that no later one has.
type layer struct {
	Tasks []string          `json:"tasks,omitempty"` // addresses; none = all
	Files map[string]pinned `json:"files"`           // by path
}

// pinned is one file.
type pinned struct {
	Hash    string `json:"hash"`    // of its text
	Content string `json:"content"` // hash of what it took from outside
	Key     string `json:"key"`     // of what is stored of it
}

func compiledKey(key string) string { return "pinned/" + key }

// Stale says that content differs from that of a run's latest execution.
type Stale struct {
	Files []string `json:"files"` // and variables, datasets, and images as "image NAME"
	Tasks []string `json:"tasks"` // addresses

	Images []string `json:"-"` // ids that the names of images among Files mean now
}

func (s *Stale) String() string { return s.Since("the execution began") }

// Since says it in words.
func (s *Stale) Since(when string) string {
	what := strings.Join(s.Files, ", ")
	if what == "" {
		what = "content that an earlier version did not note"
	}
	return fmt.Sprintf("%s changed since %s; tasks: %s", what, when, strings.Join(s.Tasks, ", "))
}

// contents is what is known of the content of runs. It belongs to the loop.
type contents struct {
	of     map[string]*content // by address, of the latest execution; nil = it has none
	stale  map[string]*Stale
	since  map[string]time.Time    // when a run became stale as it is
	newest map[string]*Run         // of stale runs: as they would be done with the content of now
	texts  map[string]config.Input // of the last look, by path
	names  map[string]string       // ids of images by name, of the last look; nil = they were not looked at
}

func newContents() contents {
	return contents{of: map[string]*content{}, stale: map[string]*Stale{}, since: map[string]time.Time{}, newest: map[string]*Run{}}
}

// differ notes how the content of a run's execution differs from that of now; nil = it does not.
func (c *contents) differ(address string, stale *Stale, newest *Run) {
	delete(c.stale, address)
	delete(c.newest, address)
	if stale != nil {
		c.stale[address], c.newest[address] = stale, newest
	}
}

func hashOf(list []config.Content) string {
	sum := sha256.New()
	for _, c := range list {
		fmt.Fprintf(sum, "%q %q %s\n", c.Kind, c.Name, c.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// filesOf are the files that a run is made of, by path.
func filesOf(set *config.Set, run *config.Run) map[string]bool {
	files := map[string]bool{run.Path: true}
	for _, ref := range run.Tasks {
		if b := set.Benchmark(ref.Name); ref.Kind == "benchmark" && b != nil {
			files[b.Path] = true
		}
	}
	for _, a := range run.Agents {
		if declared := set.Agent(a.Name); declared != nil {
			files[declared.Path] = true
		}
	}
	return files
}

// filesOfRun has exactly those files read anew that a run in force is made of.
func (r *Reconciler) filesOfRun(address string) func(path string) bool {
	files := map[string]bool{}
	if run := r.set.Run(strings.TrimPrefix(address, "run.")); run != nil {
		files = filesOf(r.set, run)
	}
	return func(path string) bool { return files[path] }
}

// unchanged tells which runs need not be compiled again: most, where one file of thousands is edited.
type unchanged struct {
	last    *config.Set     // in force until now
	changed map[string]bool // paths of files; nil = nothing is known
}

// run is a run as it was compiled, where nothing that it is made from has changed; else nil.
func (u unchanged) run(d *Run, set *config.Set, run *config.Run) *Run {
	mined := func(ref config.Ref) bool { return ref.Kind == "mining" } // their tasks are in no file
	if u.changed == nil || u.last == nil || d == nil || d.source.origin().set != u.last || slices.ContainsFunc(run.Tasks, mined) {
		return nil
	}
	before := u.last.Run(run.Name)
	if before == nil {
		return nil
	}
	for _, files := range []map[string]bool{filesOf(u.last, before), filesOf(set, run)} {
		for path := range files {
			if u.changed[path] {
				return nil
			}
		}
	}
	if !d.moveTo(set) {
		return nil
	}
	return d
}

// pinRuns makes the runs of the set in force with the content of their executions, notes what
// is stale, and records it once.
func (r *Reconciler) pinRuns(ctx context.Context, set *config.Set, before config.Previous, same unchanged) (desired map[string]*Run, err error) {
	desired = make(map[string]*Run, len(set.Blocks.Runs))
	do := r.o.Store.Do
	if r.o.Idle {
		do = r.o.Store.View
	}
	err = do(ctx, func(tx *store.Tx) error {
		clear(desired)
		p := r.pinner(tx, set)
		for i := range set.Blocks.Runs {
			run := &set.Blocks.Runs[i]
			if r.contents.stale[run.Address()] == nil {
				if d := same.run(r.desired[run.Address()], set, run); d != nil {
					desired[run.Address()] = d
					continue
				}
			}
			d, err := r.pinRun(p, run, before)
			if wrong, ok := errors.AsType[compileError](err); ok {
				r.o.Log.Error("compile", "spec", run.Address(), "error", wrong)
				d, err = r.desired[run.Address()], nil
			}
			if err != nil {
				return err
			}
			if d != nil {
				desired[run.Address()] = d
			}
		}
		return nil
	})
	return desired, err
}

func (r *Reconciler) pinRun(p *pinner, run *config.Run, before config.Previous) (*Run, error) {
	address := run.Address()
	c, known := r.contents.of[address]
	if !known || c == nil {
		var err error
		if c, err = p.contentOf(run, before); err != nil {
			return nil, err
		}
	}
	was, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	d, newest, stale, err := p.compiled(run, c)
	if err != nil {
		return nil, err
	}
	if now, err := json.Marshal(c); err != nil || c != nil && (!known || string(now) != string(was)) {
		if err = errors.Join(err, p.put(address, c)); err != nil {
			return nil, err
		}
	}
	r.contents.of[address] = c
	r.contents.differ(address, stale, newest)
	if p.dry {
		return d, nil
	}
	return d, r.recordStale(p.tx, run, c, stale)
}

// clone copies as deep as a pinner writes.
func (c *content) clone() *content {
	if c == nil {
		return nil
	}
	out := &content{N: c.N}
	for _, l := range c.Layers {
		out.Layers = append(out.Layers, layer{Tasks: l.Tasks, Files: maps.Clone(l.Files)})
	}
	return out
}

type runStale struct {
	Files   []string `json:"files"`
	Tasks   []string `json:"tasks"`
	Because string   `json:"because"`
}

// recordStale records that a run became stale, or that the content is another still.
func (r *Reconciler) recordStale(tx *store.Tx, run *config.Run, c *content, s *Stale) error {
	address, told := run.Address(), ""
	if s != nil {
		sum := sha256.New()
		fmt.Fprintf(sum, "%d %q %q %q", c.N, s.Files, s.Tasks, s.Images)
		for _, cell := range r.contents.newest[address].Cells() {
			fmt.Fprintln(sum, cell.Key)
		}
		told = hex.EncodeToString(sum.Sum(nil))
	}
	before, err := tx.Meta(staleKey(address))
	if err != nil || before == told || s == nil && r.contents.names == nil { // images may have moved all the same
		return err
	}
	r.contents.since[address] = r.line.Now()
	if err := tx.PutMeta(staleKey(address), told); err != nil || s == nil {
		return err
	}
	record := runStale{append([]string{}, s.Files...), s.Tasks, "content differs from that of the latest execution"}
	_, err = tx.AppendLine(store.StreamRef{Spec: address}, store.Envelope{Type: "run.stale", Spec: address, Execution: c.N, Generation: run.Generation}, record)
	return err
}

func staleKey(address string) string { return "stale/" + address }
