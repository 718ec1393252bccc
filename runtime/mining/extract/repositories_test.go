package extract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"golang.org/x/sync/errgroup"
)

var shopFiles = start.with(tree{
	"untouched.go": "package cart\n\nvar untouched = errBroken\n", "total_sum.go": "package cart\n", "a.bin": "\x00 hidden", "crlf.txt": "one\r\n",
	"120000 link": "README.md", "120000 out": "../secret", "120000 twice": "link", "vendor/x/go.mod": "module x\n", "testdata/go.mod": "module y\n",
})

// shop is a repository with one pull request, and files that it does not touch.
func shop(t *testing.T, forge string) (o origin, base string, p github.Pull) {
	t.Helper()
	o = newOrigin(t, forge, "acme/shop")
	base = o.commit(shopFiles)
	return o, base, o.pull(base, o.commit(shopFiles.with(tree{"cart.go": "package cart\n\nfunc Sum() int { return 2 }\n"}), base), 1)
}

func folder(r *Repositories) string { return filepath.Join(r.Dir, "acme+shop.git") }

// contents is how many files of the repository a clone has the content of.
func contents(t *testing.T, dir string) int {
	t.Helper()
	out := origin{t, dir}.git("cat-file", "--batch-check=%(objecttype)", "--batch-all-objects")
	return strings.Count(out, "blob")
}

func TestNoMoreIsFetchedThanIsNeeded(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, base, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	want, err := r.Change(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if n := contents(t, folder(r)); n != 2 {
		t.Errorf("%d files were fetched instead of the two sides of one", n)
	}
	if _, err := r.Has(t.Context(), "acme/shop", base, []string{"nowhere"}); err != nil {
		t.Fatal(err)
	}
	// All that was asked for once is there for good, under any case of the name.
	if err := os.RemoveAll(o.dir); err != nil {
		t.Fatal(err)
	}
	p.Repo = "Acme/Shop"
	if got, err := r.Change(t.Context(), p); err != nil || string(got.Patch) != string(want.Patch) {
		t.Errorf("again: %v", err)
	}
	if found, err := r.Has(t.Context(), "acme/shop", base, []string{"errBroken"}); err != nil || !found["errBroken"] {
		t.Errorf("again: %v, %v", found, err)
	}
	p.MergeSHA = strings.Repeat("12", 20)
	if _, err := r.Change(t.Context(), p); err == nil || reason.Of(err) != nil {
		t.Errorf("a repository that is not there is trouble, and no fault of the pull request: %v", err)
	}
}

func TestLaterPullRequestsCutOffNoneBefore(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, base, first := shop(t, forge)
	merge := o.commit(shopFiles.with(tree{"cart.go": "package cart\n\nfunc Sum() int { return 3 }\n"}), first.MergeSHA)
	second := o.pull(first.MergeSHA, merge, 1)
	r := repositories(t, forge, Options{})
	for range 2 {
		for _, p := range []github.Pull{second, first} {
			if _, err := filesAt(t.Context(), r, "acme/shop", p.MergeSHA); err != nil { // alone, without what is before it
				t.Fatal(err)
			}
		}
		for p, onto := range map[*github.Pull]string{&second: first.MergeSHA, &first: base} {
			if change, err := r.Change(t.Context(), *p); err != nil || change.Base != onto {
				t.Errorf("from %s instead of %s: %v", change.Base, onto, err)
			}
		}
	}
}

func TestWhatACrashLeavesIsMadeAgain(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, _, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	if _, err := r.Change(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]func(dir string) error{
		"a transfer": func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, busyName), nil, 0o600), os.WriteFile(filepath.Join(dir, "shallow.lock"), nil, 0o600),
				os.WriteFile(filepath.Join(dir, "objects", "pack", "tmp_pack_x"), []byte("half"), 0o600))
		},
		"all but the mark": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "objects")), os.RemoveAll(filepath.Join(dir, "HEAD")), os.WriteFile(filepath.Join(dir, busyName), nil, 0o600))
		},
		"the clone": os.RemoveAll,
	} {
		if err := broken(folder(r)); err != nil {
			t.Fatal(err)
		}
		for _, temporary := range []string{newPrefix, gonePrefix} {
			if err := os.MkdirAll(filepath.Join(r.Dir, temporary+"1", "clone"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		r = repositories(t, forge, Options{Dir: r.Dir}) // the next process
		if _, err := r.Change(t.Context(), p); err != nil {
			t.Errorf("%s was broken: %v", name, err)
		}
		left, err := os.ReadDir(r.Dir)
		if err != nil || len(left) != 2 {
			t.Errorf("%s was broken: left are %v, %v", name, left, err)
		}
		if _, err := os.Stat(filepath.Join(folder(r), "shallow.lock")); err == nil {
			t.Errorf("%s was broken, and the lock is there yet", name)
		}
	}
}

// What is wrong with a clone is seen when it is read; the next work has a new one.
func TestACloneThatIsDamagedIsMadeAgain(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, base, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	if _, err := r.Change(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(folder(r), "objects", "pack", "*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	for _, pack := range packs {
		info, err := os.Stat(pack)
		if err != nil {
			t.Fatal(err)
		}
		garbage := make([]byte, info.Size())
		if err := errors.Join(os.Chmod(pack, 0o600), os.WriteFile(pack, garbage, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	failed := 0
	for ; failed < 3; failed++ {
		if _, err = r.Change(t.Context(), p); err == nil {
			break
		}
		if reason.Of(err) != nil {
			t.Errorf("it is no fault of the pull request: %v", err)
		}
	}
	if err != nil {
		t.Errorf("it failed %d times: %v", failed, err)
	}
	if _, err := filesAt(t.Context(), r, "acme/shop", base); err != nil {
		t.Error(err)
	}
}

func TestATransferThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, _, p := shop(t, forge)
	asked := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		once.Do(func() { close(asked) })
		<-q.Context().Done()
	}))
	defer server.Close()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := repositories(t, server.URL, Options{Dir: dir}).Change(ctx, p)
		done <- err
	}()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := repositories(t, forge, Options{Dir: dir}).Change(t.Context(), p); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, base, p := shop(t, forge)
	var noise strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&noise, "%x\n", i*i*2654435761)
	}
	huge := o.commit(shopFiles.with(tree{"huge.txt": noise.String()}), p.MergeSHA)
	r := repositories(t, forge, Options{MaxBytes: 100 << 10})
	if _, err := r.Change(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Change(t.Context(), o.pull(p.MergeSHA, huge, 1)); code(err) != "too_large" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(folder(r)); err == nil {
		t.Error("the clone that is too large is there yet")
	}
	if _, err := filesAt(t.Context(), r, "acme/shop", base); err != nil {
		t.Errorf("another piece of work: %v", err)
	}
}

func TestManyPacksBecomeOne(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, _, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	r.packs = 3
	pulls := []github.Pull{p}
	for i := range 4 {
		last := pulls[i].MergeSHA
		pulls = append(pulls, o.pull(last, o.commit(shopFiles.with(tree{"cart.go": fmt.Sprintln("package cart //", i)}), last), 1))
	}
	for range 2 {
		for _, p := range pulls {
			if _, err := r.Change(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		// The second time, all is there.
		if err := os.RemoveAll(o.dir); err != nil {
			t.Fatal(err)
		}
	}
	if packs, err := filepath.Glob(filepath.Join(folder(r), "objects", "pack", "*.pack")); err != nil || len(packs) > 4 {
		t.Errorf("the packs are %q, %v", packs, err)
	}
}

func TestWhatWasUsedLongestAgoGoesFirst(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	r := repositories(t, forge, Options{})
	names := []string{"a/one", "a/two", "a/three"}
	sizes := map[string]int64{}
	for i, name := range names {
		o := newOrigin(t, forge, name)
		commit := o.commit(start)
		if _, err := filesAt(t.Context(), r, name, commit); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(r.Dir, strings.Replace(name, "/", "+", 1)+".git")
		when := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(filepath.Join(dir, usedName), when, when); err != nil {
			t.Fatal(err)
		}
		sizes[name] = git.SizeOf(dir)
	}
	there := func() string {
		dirs, err := filepath.Glob(filepath.Join(r.Dir, "*+*"))
		if err != nil {
			t.Fatal(err)
		}
		for i, dir := range dirs {
			dirs[i] = filepath.Base(dir)
		}
		return strings.Join(dirs, " ")
	}
	collect := func(keep int64, want string) {
		t.Helper()
		if err := r.Collect(t.Context(), keep); err != nil || there() != want {
			t.Errorf("left are %s instead of %s, %v", there(), want, err)
		}
	}
	collect(1<<30, "a+one.git a+three.git a+two.git")
	collect(sizes["a/two"]+sizes["a/three"], "a+three.git a+two.git")
	// One in use stays.
	if err := r.use(t.Context(), "a/two", func(*clone) error {
		collect(0, "a+two.git")
		return nil
	}); err != nil {
		t.Error(err)
	}
	collect(0, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Collect(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, base, p := shop(t, forge)
	other := newOrigin(t, forge, "acme/other").commit(start)
	r := repositories(t, forge, Options{})
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error {
			_, err := r.Change(ctx, p)
			return err
		})
		group.Go(func() error {
			_, err := r.Has(ctx, "acme/shop", base, []string{"errBroken"})
			return err
		})
		group.Go(func() error {
			_, err := r.File(ctx, "acme/other", other, "README.md")
			return err
		})
	}
	group.Go(func() error { return r.Collect(ctx, 1<<30) })
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	// Who waits for a clone goes with its context.
	waiting, cancel := context.WithCancel(t.Context())
	if err := r.use(t.Context(), "acme/shop", func(*clone) error {
		cancel()
		_, err := filesAt(waiting, r, "acme/shop", base)
		return err
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
