package mining

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/task"
)

// The provenance of a task has the environment that it was proved in and what that was made from,
// each with its own digest, and tells of the tests that the proof has left out.
func TestTheProvenanceTellsOfTheEnvironmentAndTheProof(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	w.spec.Repeats = 3
	var runs atomic.Int64
	w.judge = func(t task.Task, fix []byte) (round.Report, error) {
		r, err := outcome(t, fix)
		if err != nil {
			return r, err
		}
		turns := parser.Test{Name: "tests/test_f1.py::test_turns", Status: parser.Passed}
		if runs.Add(1)%3 == 0 {
			turns.Status = parser.Failed
		}
		return report(append(r.Tests, turns)...), nil
	}
	w.serve().mine(nothingMore)

	d := w.book.decision(ref(shop, 1))
	if d.Mined == nil {
		t.Fatalf("%+v", d)
	}
	text, err := os.ReadFile(filepath.Join(w.spec.Output.Dir, "acme-shop-1", "provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got output.Provenance
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	work, err := w.images.Work(t.Context(), d.Mined.Task, nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := w.images.Resolve(t.Context(), "python:3.12-bookworm", "")
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		Image, Digest, Base, BaseDigest string
		Hunks, Covered                  int
		Flaky, Textual                  output.LeftOut
	}
	want := told{
		work.Ref, work.ID, "python:3.12-bookworm", base.ID, 1, 1,
		output.LeftOut{Count: 1, Names: []string{"tests/test_f1.py::test_turns"}},
		output.LeftOut{Names: []string{}},
	}
	has := told{got.Image, got.ImageDigest, got.BaseImage, got.BaseImageDigest, got.Hunks, got.Covered, got.Flaky, got.Textual}
	if diff := cmp.Diff(want, has); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if work.ID == base.ID {
		t.Error("the environment is its base")
	}
}

// A digest of a registry is that of the image's own, else of the one that it came from.
func TestTheDigestOfARegistryIsThatOfTheImage(t *testing.T) {
	of := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	for i, c := range []struct {
		name    string
		digests []string
		want    string
	}{
		{"python:3.12", nil, ""},
		{"python:3.12", []string{"mirror.example/python@" + of("1"), "python@" + of("2")}, of("2")},
		{"python", []string{"mirror.example/python@" + of("1"), "python@" + of("2")}, of("2")},
		{"python@" + of("2"), []string{"python@" + of("1"), "python@" + of("2")}, of("2")},
		{"pythons:1", []string{"python@" + of("1"), "pythons@" + of("2")}, of("2")},
		{"python:3.12", []string{"mirror.example/python@" + of("1")}, of("1")},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := registryDigest(c.name, c.digests); got != c.want {
				t.Errorf("of %s: %s, not %s", c.name, got, c.want)
			}
		})
	}
}
