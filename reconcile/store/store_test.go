package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/reconcile/store/writequeue"
)

// holdLock makes a child of the test binary open a state directory and keep it.
const holdLock = "ASSAYD_STORE_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdLock); dir != "" {
		hold(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func hold(dir string) {
	if _, err := Open(context.Background(), dir, Options{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	select {}
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func do(t *testing.T, s *Store, fn func(*Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// read returns what query returns in a View.
func read[T any](t *testing.T, s *Store, query func(*Tx) (T, error)) (value T) {
	t.Helper()
	err := s.View(t.Context(), func(tx *Tx) (err error) {
		value, err = query(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func meta(key string) func(*Tx) (string, error) {
	return func(tx *Tx) (string, error) { return tx.Meta(key) }
}

func TestStateDirectoryIsMadePrivateWithItsParents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "var lib", "50% ?#&=", "state")
	s := open(t, dir, Options{})
	if s.Dir() != dir {
		t.Errorf("Dir() = %q", s.Dir())
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		t.Error(err)
	}
}

func TestOwnerStaysTheSame(t *testing.T) {
	dir := t.TempDir()
	owner := func(dir string) string {
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Owner()
	}
	first := owner(dir)
	if len(first) != 16 || owner(dir) != first {
		t.Errorf("owner %q, then %q", first, owner(dir))
	}
	if owner(t.TempDir()) == first {
		t.Error("two state directories have one owner")
	}
}

func TestSecondOpenNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	_, err := Open(t.Context(), dir, Options{})
	locked, ok := errors.AsType[*statedir.LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Dir != dir {
		t.Fatalf("got %v", err)
	}
	if want := fmt.Sprintf("process %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

func TestKilledProcessLeavesNoLock(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holdLock+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4)
	if _, err := out.Read(said); err != nil || string(said) != "open" {
		t.Fatalf("child said %q, %v", said, err)
	}
	_, err = Open(t.Context(), dir, Options{})
	if locked, ok := errors.AsType[*statedir.LockedError](err); !ok || locked.PID != child.Process.Pid {
		t.Errorf("while the child lives: %v", err)
	}
	child.Process.Kill()
	child.Wait() // says that it was killed
	open(t, dir, Options{})
}

func TestNewerSchemaIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, func(tx *Tx) error {
		_, err := tx.exec(fmt.Sprintf("PRAGMA user_version = %d", len(migrations)+1))
		return err
	})
	s.Close()
	for range 2 {
		_, err = Open(t.Context(), dir, Options{})
		newer, ok := errors.AsType[*VersionError](err)
		if !ok || newer.Found != len(migrations)+1 || newer.Known != len(migrations) {
			t.Fatalf("got %v", err)
		}
		if !strings.Contains(err.Error(), fmt.Sprint("version ", len(migrations)+1)) || !strings.Contains(err.Error(), fmt.Sprint("up to ", len(migrations))) {
			t.Errorf("message %q does not name both versions", err)
		}
	}
}

func TestFailedDoStoresNothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	mine := errors.New("mine")
	err := s.Do(t.Context(), func(tx *Tx) error {
		if err := tx.PutMeta("a", "1"); err != nil {
			return err
		}
		if _, err := tx.AppendLine(StreamRef{Spec: "run.a", Path: "/x"}, Envelope{Type: "x"}, nil); err != nil {
			return err
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Errorf("error %v is not the one returned", err)
	}
	func() {
		defer func() { recover() }()
		s.Do(t.Context(), func(tx *Tx) error {
			if err := tx.PutMeta("a", "2"); err != nil {
				return err
			}
			panic("bug")
		})
	}()
	if got := read(t, s, meta("a")); got != "" {
		t.Errorf("stored %q", got)
	}
	if got := read(t, s, (*Tx).Streams); len(got) != 0 {
		t.Errorf("stored %v", got)
	}
	if len(s.Lines()) != 0 {
		t.Error("pulse for lines that were not stored")
	}
}

func TestCancelledContextStoresNothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Do(ctx, func(tx *Tx) error {
		if err := tx.PutMeta("a", "1"); err != nil {
			return err
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	do(t, s, func(tx *Tx) error { return tx.PutMeta("b", "1") })
	if got := read(t, s, meta("a")); got != "" {
		t.Errorf("stored %q", got)
	}
}

func TestViewIsASnapshotAndCannotWrite(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.View(t.Context(), func(tx *Tx) error { return tx.PutMeta("a", "1") })
	if !errors.Is(err, statedir.ErrReadOnly) {
		t.Errorf("write in a view: %v", err)
	}
	err = s.View(t.Context(), func(tx *Tx) error {
		for range 2 {
			if got, err := tx.Meta("a"); err != nil || got != "" {
				return fmt.Errorf("%q, %w", got, err)
			}
			do(t, s, func(tx *Tx) error { return tx.PutMeta("a", "later") })
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEveryConnectionHasItsPragmas(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	check := func(db *pool, n int, pragma string, want string) {
		var conns []*sql.Conn
		for range n {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
			var got string
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s = %q, want %q, error %v", pragma, got, want, err)
			}
		}
		for _, c := range conns {
			c.Close()
		}
	}
	for pragma, want := range map[string]string{"busy_timeout": "5000", "journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		check(s.writer, 1, pragma, want)
	}
	for db, n := range map[*pool]int{s.reader: readers, s.first: firstReaders} {
		check(db, n, "busy_timeout", "5000")
		check(db, n, "query_only", "1")
	}
}

// Whoever goes first reads, however many others do.
func TestAReaderThatGoesFirstWaitsForNoOther(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	read := make(chan struct{})
	for range readers {
		others.Go(func() {
			if err := s.View(t.Context(), func(*Tx) error { read <- struct{}{}; <-ctx.Done(); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for range readers {
		<-read
	}
	if err := s.View(writequeue.First(t.Context()), func(tx *Tx) error { _, err := tx.Meta("a"); return err }); err != nil {
		t.Error(err)
	}
}

func TestTransactionsAtOnceAllCount(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				err := s.Do(t.Context(), func(tx *Tx) error {
					latest, err := tx.LatestExecution("run.a")
					if err != nil && !errors.Is(err, ErrNotFound) {
						return err
					}
					return tx.PutExecution(ExecutionRow{Spec: "run.a", N: latest.N + 1, StartedAt: time.Unix(1, 0)})
				})
				if err != nil {
					t.Error(err)
				}
				read(t, s, (*Tx).OpenExecutions)
			}
		})
	}
	wg.Wait()
	if e := read(t, s, func(tx *Tx) (ExecutionRow, error) { return tx.LatestExecution("run.a") }); e.N != 40 {
		t.Errorf("latest is e%d", e.N)
	}
}

func TestPulsesCoalesce(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error { return tx.PutMeta("a", "1") })
	if len(s.Lines()) != 0 {
		t.Error("pulse without a line")
	}
	for range 3 {
		do(t, s, func(tx *Tx) error {
			_, err := tx.AppendLine(StreamRef{Spec: "run.a", Path: "/x"}, Envelope{Type: "x"}, nil)
			return err
		})
	}
	<-s.Lines()
	if len(s.Lines()) != 0 {
		t.Error("a second pulse waits")
	}
}

func TestOnceIsTrueOnce(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for i, want := range []bool{true, false, false} {
		do(t, s, func(tx *Tx) error {
			got, err := tx.Once("pr:a/b#1")
			if got != want {
				t.Errorf("call %d: %v", i, got)
			}
			return err
		})
	}
}

// Who only reads takes no lock, makes nothing, and sees what the owner commits.
func TestReadOnlyBesideTheOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if _, err := Open(t.Context(), dir, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("where there is no state: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("it was made")
	}
	owner := open(t, dir, Options{})
	unfinished := filepath.Join(dir, "blobs", "tmp", "x")
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := open(t, dir, Options{ReadOnly: true})
	if _, err := os.Stat(unfinished); err != nil || reader.Owner() != owner.Owner() {
		t.Errorf("the owner's blob in the making: %v; owner %q", err, reader.Owner())
	}
	put := func(tx *Tx) error { return tx.PutMeta("a", "1") }
	do(t, owner, put)
	if got := read(t, reader, meta("a")); got != "1" {
		t.Errorf("read %q", got)
	}
	if err := reader.Do(t.Context(), put); !errors.Is(err, statedir.ErrReadOnly) {
		t.Errorf("writing: %v", err)
	}
	do(t, owner, func(tx *Tx) error {
		_, err := tx.exec("PRAGMA user_version = 0")
		return err
	})
	_, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if older, ok := errors.AsType[*VersionError](err); !ok || older.Found != 0 || !strings.Contains(err.Error(), "start a daemon") {
		t.Errorf("an older version: %v", err)
	}
}
