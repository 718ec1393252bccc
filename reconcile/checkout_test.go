package reconcile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
)

// repository makes the house's folder one that is replaced a commit at a time.
func (h *fixture) repository() (whole *atomic.Bool, commit *atomic.Value) {
	whole, commit = &atomic.Bool{}, &atomic.Value{}
	whole.Store(true)
	commit.Store("c1")
	h.git = &specs.Checkout{
		Root:   h.specs,
		Hold:   func() (func(), bool) { return func() {}, whole.Load() },
		Commit: func() string { return commit.Load().(string) },
		Status: func() query.GitStatus { return query.GitStatus{Commit: commit.Load().(string)} },
	}
	return whole, commit
}

// took is what is wrong after a commit that changed these files.
func (h *fixture) took(d *daemon, names ...string) config.Diagnostics {
	h.t.Helper()
	changed := []string{}
	for _, name := range names {
		changed = append(changed, filepath.Join(h.specs, name))
	}
	ds, err := d.Took(h.t.Context(), changed)
	check(h.t, err)
	return ds
}

// inForce are the names of the agents that are declared.
func inForce(d *daemon) string {
	var names []string
	for _, b := range d.specs.InForce().All() {
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

func agentFile(name string) string { return fmt.Sprintf("agent %q { command = \"x\" }\n", name) }

func TestACheckoutThatIsNotWholeIsNotLookedAt(t *testing.T) {
	h := newFixture(t)
	whole, commit := h.repository()
	h.write("a.hcl", agentFile("a"))
	h.write("b.hcl", agentFile("b"))
	d := h.start()
	h.took(d, "a.hcl", "b.hcl")
	whole.Store(false)
	h.write("a.hcl", "agent \"a")
	h.write("b.hcl", "")
	h.write("c.hcl", agentFile("c"))
	for range 2 {
		check(t, d.Look(t.Context(), true))
	}
	s, err := d.Status(t.Context(), "")
	check(t, err)
	if got := inForce(d); got != "a b" || len(s.Diagnostics) > 0 {
		t.Errorf("in force is %q with %v, want what was accepted", got, s.Diagnostics)
	}
	d.stop()
	d = h.start() // nor by a daemon that has just begun
	if got := inForce(d); got != "a b" {
		t.Errorf("in force is %q after a restart", got)
	}
	commit.Store("c2")
	h.write("a.hcl", agentFile("a2"))
	whole.Store(true)
	if ds := h.took(d, "a.hcl", "b.hcl", "c.hcl"); len(ds) > 0 || inForce(d) != "a2 c" {
		t.Errorf("in force is %q with %v", inForce(d), ds)
	}
}

func TestACommitIsReadAtOnceAndAsAWhole(t *testing.T) {
	h := newFixture(t)
	_, commit := h.repository()
	h.write("a.hcl", agentFile("a"))
	d := h.start()
	if ds := h.took(d, "a.hcl"); len(ds) > 0 {
		t.Fatal(ds)
	}
	commit.Store("c2")
	h.write("a.hcl", "") // it is moved, so that its name would be declared twice for a while
	h.write("b.hcl", agentFile("a"))
	if ds := h.took(d, "a.hcl", "b.hcl"); len(ds) > 0 {
		t.Errorf("a file that moved is complained about: %v", ds)
	}
	if b := d.specs.InForce().All(); len(b) != 1 || filepath.Base(b[0].Path) != "b.hcl" {
		t.Errorf("in force is %+v", b)
	}
	commit.Store("c3")
	h.write("b.hcl", "agent \"a")
	if ds := h.took(d, "b.hcl"); !ds.HasErrors() {
		t.Error("a commit with an error is not complained about")
	}
	if got := h.told(d, "b.hcl"); got != "spec.accepted c2, spec.rejected c3" {
		t.Errorf("told is %q", got)
	}
}

func TestACommitWithoutMostOfItsFilesIsAwaited(t *testing.T) {
	h := newFixture(t)
	h.repository()
	names := []string{"a.hcl", "b.hcl", "c.hcl", "d.hcl"}
	for _, name := range names {
		h.write(name, agentFile(name[:1]))
	}
	d := h.start()
	h.took(d, names...)
	for _, name := range names[1:] {
		h.write(name, "")
	}
	if h.took(d, names[1:]...); inForce(d) != "a b c d" {
		t.Errorf("in force is %q, want all for a while", inForce(d))
	}
}

// told are the types and commits of a status file's records.
func (h *fixture) told(d *daemon, name string) string {
	h.t.Helper()
	var all []string
	path := filepath.Join(h.specs, name)
	err := h.store.View(h.t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream("status:" + path)
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(stream.ID, 1, 100)
		for _, l := range lines {
			fields := strings.FieldsFunc(string(l.Data), func(r rune) bool { return strings.ContainsRune(`{}",:`, r) })
			typ, commit := slices.Index(fields, "type"), slices.Index(fields, "commit")
			all = append(all, fields[typ+1]+" "+fields[commit+1])
		}
		return err
	})
	check(h.t, err)
	return strings.Join(all, ", ")
}
