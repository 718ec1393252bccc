package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/specfiles"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/task"
)

// many is what these tests have of something of which a daemon may have ten thousand.
const many = 1000

// inUse is how many bytes of the heap are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what had a finalizer goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sleepers writes a benchmark and files with a run each, which are not due for long, and
// waits until none of them is so young that it would be held back.
func (h *fixture) sleepers(n int) {
	h.t.Helper()
	h.write("shared.hcl", benchmarkSpec)
	for i := range n {
		h.write(fmt.Sprintf("sleeper%d.hcl", i), fmt.Sprintf("run \"sleeper%d\" {\n  tasks = [benchmark.edge]\n  schedule = \"0 0 1 1 *\"\n  agent \"nop\" {}\n}\n", i))
	}
	<-time.After(2 * specfiles.YoungText)
}

// A spec that sleeps takes less than 5 KB: a daemon with ten thousand has no more than 50 MB of
// them.
func TestASleepingSpecTakesLittleMemory(t *testing.T) {
	first := newFixture(t) // what a process has once, such as caches, is no part of what a spec takes
	first.sleepers(many)
	started := first.start()
	check(t, started.do(t.Context(), func() {}))
	started.stop()
	h := newFixture(t)
	h.sleepers(many)
	before := inUse()
	d := h.start()
	check(t, d.do(t.Context(), func() {
		if len(d.runs.desired) != many {
			t.Errorf("%d runs are wanted, want %d", len(d.runs.desired), many)
		}
	}))
	const bound = 6 << 10 // 5.7 KiB, with its place in the snapshot
	each := (inUse() - before) / many
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); each > bound; each = (inUse() - before) / many { // a look at the files has more in hand while it lasts
		select {
		case <-tick.C:
			continue
		case <-late:
		}
		break
	}
	t.Logf("each spec takes %d bytes", each)
	if each > bound {
		t.Error("that is too much")
	}
	d.stop()
}

// imported is a dataset whose one task has a long patch, and runs of it.
func imported(t *testing.T, runs int) *config.Set {
	t.Helper()
	text := "benchmark \"edge\" {\n  import \"sforge\" { path = \".\" }\n}\n"
	for i := range runs {
		text += fmt.Sprintf("run \"r%d\" {\n  tasks = [benchmark.edge]\n  agent \"oracle\" {}\n}\n", i)
	}
	raw, err := json.Marshal(task.Task{Name: "one", Solution: &task.Solution{Patch: []byte(strings.Repeat("x", 32<<10))}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := config.Options{Import: func(config.Import) ([]config.Imported, []config.Problem) {
		return []config.Imported{{Name: "one", Task: raw}}, nil
	}}
	set := config.Load([]config.Input{{Path: filepath.Join(dir, "a.hcl"), Display: "a.hcl", Root: dir, Text: []byte(text)}}, nil, o)
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	return set
}

// However long a task is, the cells of all runs hold no copy of it, and make it when it is
// asked for.
func TestCellsHoldNoCopyOfTheirTask(t *testing.T) {
	set := imported(t, 50)
	before := inUse()
	var runs []*plan.Run
	compiler := plan.NewCompiler(set)
	for i := range set.Blocks.Runs {
		d, err := compiler.Compile(&set.Blocks.Runs[i])
		if err != nil || len(d.Cells()) != 1 || d.Blocked != "" {
			t.Fatal(d, err)
		}
		runs = append(runs, d)
	}
	compiler = nil
	each := (inUse() - before) / int64(len(runs))
	t.Logf("each run takes %d bytes", each)
	if each > 4<<10 {
		t.Error("that is too much")
	}
	for _, d := range runs {
		if cell := d.Cells()[0].Whole(); cell.Key() != d.Cells()[0].Key || len(cell.Task.Solution.Patch) != 32<<10 {
			t.Errorf("%s is made of another cell than it has the key of", d.Name)
		}
	}
	runtime.KeepAlive(compiler)
}

// Runs are read in one transaction: a writer changes all or none of them.
func TestManyRunsAreReadAtOnce(t *testing.T) {
	h := newFixture(t)
	var addresses []string
	for i := range 20 {
		addresses = append(addresses, fmt.Sprintf("run.r%d", i))
	}
	fire := func(at time.Time) error {
		return h.store.Do(t.Context(), func(tx *store.Tx) (err error) {
			for _, a := range addresses {
				err = errors.Join(err, tx.PutMeta(history.FiredKey(a), plan.Stamp(at)))
			}
			return err
		})
	}
	check(t, fire(noon))
	done := make(chan error, 1)
	go func() {
		var err error
		for n := 1; n <= 40 && err == nil; n++ {
			err = fire(noon.Add(time.Duration(n) * time.Second))
		}
		done <- err
	}()
	r := New(Options{Store: h.store})
	for reading := true; reading; {
		select {
		case err := <-done:
			check(t, err)
			reading = false
		default:
		}
		all := r.observer.observe(t.Context(), addresses)
		for i, seen := range all {
			if seen.err != nil || !seen.LastFired.Equal(all[0].LastFired) {
				t.Fatalf("%s was read with %s, %v, and the first with %s", addresses[i], seen.LastFired, seen.err, all[0].LastFired)
			}
		}
	}
}

// One run that cannot be read keeps none of the others from its turn, however many are due.
func TestARunThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	h := newFixture(t)
	h.sleepers(atOnce + 10)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.PutMeta(history.FiredKey("run.sleeper7"), "never"), tx.PutMeta(history.ScheduleKey("run.sleeper7"), "0 0 1 1 *"))
	}))
	d := h.start()
	var failed, asleep []string
	look := func() bool {
		failed, asleep = nil, nil
		check(t, d.do(t.Context(), func() {
			for address := range d.runs.desired {
				if d.runs.queue.Fails(address) > 0 {
					failed = append(failed, address)
				}
				if at, ok := d.runs.queue.Due(address); ok && at.Sub(d.runs.now()) > 5*time.Minute {
					asleep = append(asleep, address)
				}
			}
		}))
		return slices.Equal(failed, []string{"run.sleeper7"}) && len(asleep) == atOnce+9
	}
	for deadline := time.Now().Add(patience); !look(); <-time.After(2 * time.Millisecond) { // files that are very young are held back
		if !time.Now().Before(deadline) {
			t.Fatalf("%v could not be read, and %d of the others sleep", failed, len(asleep))
		}
	}
	d.stop()
}

// Files rest while nothing changes. What is missing or wrong is looked at again and again,
// and whoever asks for a look gets one.
func TestFilesRestOnlyWhenAllIsWell(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", benchmarkSpec)
	handedIn := filepath.Join(t.TempDir(), "b.hcl")
	if err := os.WriteFile(handedIn, []byte(strings.TrimPrefix(spec("x"), benchmarkSpec)), 0o644); err != nil {
		t.Fatal(err)
	}
	d := h.start()
	rests := func() (n int) {
		t.Helper()
		check(t, d.do(t.Context(), func() { n = d.specs.Cached() }))
		return n
	}
	untilRest := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(patience); rests() != want; <-time.After(2 * time.Millisecond) {
			if !time.Now().Before(deadline) {
				t.Fatalf("%d roots rest, want %d", rests(), want)
			}
		}
	}
	untilRest(1)
	h.write("wrong.hcl", "run {")
	d.look(t)
	d.untilComplaints(t, 1)
	untilRest(0)
	h.write("wrong.hcl", "")
	d.look(t) // a file that is missed is looked for once more
	untilRest(1)
	if _, ds, err := d.Submit(t.Context(), []string{handedIn}); err != nil || ds.HasErrors() {
		t.Fatal(ds, err)
	}
	untilRest(0)
	check(t, d.Withdraw(t.Context(), []string{handedIn}))
	untilRest(1)
	d.stop()
}

// An edit of one file compiles the runs of that file, and asks the store about no other; the set
// before it is given up.
func TestAnEditCostsItsOwnRunsAlone(t *testing.T) {
	asked := map[int]int64{}
	for _, n := range []int{10, 300} {
		h := newFixture(t)
		h.sleepers(n)
		d := h.start()
		edited := "run.sleeper3"
		before := map[string]*plan.Run{}
		var last *config.Set
		check(t, d.do(t.Context(), func() {
			maps.Copy(before, d.runs.desired)
			last = d.specs.Set()
		}))
		h.write("sleeper3.hcl", "run \"sleeper3\" {\n  tasks = [benchmark.edge]\n  schedule = \"0 0 2 1 *\"\n  agent \"nop\" {}\n}\n")
		queries := h.store.Work().Queries
		check(t, d.do(t.Context(), func() { // as for who asks for it: nobody waits for a file that is young
			d.specs.Rescan(t.Context(), specs.Among([]string{filepath.Join(h.specs, "sleeper3.hcl")}))
		}))
		asked[n] = h.store.Work().Queries - queries
		check(t, d.do(t.Context(), func() {
			for address, run := range d.runs.desired {
				if again := run != before[address]; again != (address == edited) {
					t.Errorf("compiled again: %s %v", address, again)
				}
				if !run.MadeFrom(d.specs.Set()) || run.MadeFrom(last) {
					t.Errorf("%s holds the set before the edit", address)
				}
			}
		}))
		d.stop()
	}
	t.Logf("queries of an edit, by runs: %v", asked)
	if asked[300] > asked[10]+100 { // what goes on beside asks, too
		t.Errorf("queries of an edit, by runs: %v", asked)
	}
}
