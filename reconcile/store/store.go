package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/reconcile/store/record"
	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/reconcile/store/writequeue"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
)

// Options of Open; the zero value is usable.
type Options struct {
	// Clock stamps lines and rows; nil is the wall clock.
	Clock func() time.Time
	// Log receives what Open repairs; nil discards it.
	Log *slog.Logger
	// Redact replaces secret values in text. It is given the decoded content of each JSON
	// string that is about to be stored, so a secret with quotes in it is found too, and
	// must not change its argument. It may be called from several goroutines. Nil keeps all.
	Redact func([]byte) []byte
	// ReadOnly opens what is there as it is, without the lock, also beside the process that
	// has it: nothing is made, repaired or migrated, and Do fails.
	ReadOnly bool
	// Committed is told how long each transaction took to become durable, from its first statement. It
	// must not block. Nil tells nobody.
	Committed func(took time.Duration)
}

// Store is an open state directory. Its methods may be called from several goroutines.
type Store struct {
	dir     string
	owner   string
	clock   func() time.Time
	encoder record.Encoder
	commits func(took time.Duration)
	lock    io.Closer
	writer  *pool            // one connection: SQLite has one writer
	writers writequeue.Queue // who waits for it
	reader  *pool
	first   *pool // reads, too, for those who go first; nil where the store is open for reading only
	blobs   *blob.Blobs
	lists   *blob.Blobs // what was too long for a line
	lines   chan struct{}

	queries, rows atomic.Int64
	n             atomic.Int64 // of the last change; written by Do alone
	rolledUp      atomic.Int64 // the hour in which spending was rolled up last
	models        spentModels
	watchers      change.Watchers
}

// Work is what a store was asked for since it was opened.
type Work struct {
	Queries int64 // statements that were executed
	Rows    int64 // that were read
}

// Work counts, so that tests and measurements can tell what an event costs.
func (s *Store) Work() Work { return Work{s.queries.Load(), s.rows.Load()} }

// databaseName is the database's file within the state directory.
const databaseName = "assayd.db"

// Open opens the state directory dir, making it (mode 0700) where it is missing, and takes
// its lock until Close. Errors: *statedir.LockedError when another process has it, *VersionError
// when a newer assayd wrote it, *statedir.CopiedError when it is a copy of one that is still there, and
// statedir.ErrNoSpace or statedir.ErrReadOnly as causes. With ReadOnly,
// errors.Is(err, fs.ErrNotExist) where there is no state.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state directory %q: %w", dir, err)
	}
	s := &Store{dir: dir, clock: o.Clock, commits: o.Committed, lines: make(chan struct{}, 1)}
	s.encoder = record.Encoder{Redact: o.Redact, Keep: s.keepList}
	if s.clock == nil {
		s.clock = clock.Now
	}
	if s.commits == nil {
		s.commits = func(time.Duration) {}
	}
	if o.ReadOnly {
		if err := s.openReadOnly(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", explain(err))
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if s.lock, err = statedir.Lock(dir); err != nil {
		return nil, err
	}
	if err := statedir.MakePrivate(dir, databaseName); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.open(ctx, log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open does what Open does once the lock is held.
func (s *Store) open(ctx context.Context, log *slog.Logger) (err error) {
	if s.blobs, err = blob.Open(filepath.Join(s.dir, "blobs"), log); err != nil {
		return err
	}
	if s.lists, err = blob.Open(filepath.Join(s.dir, "lists"), log); err != nil {
		return err
	}
	if err := statedir.Sync(s.dir); err != nil {
		return fmt.Errorf("make state directory durable: %w", explain(err))
	}
	path := filepath.Join(s.dir, databaseName)
	if s.writer, err = openPool(path, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)",
			"foreign_keys(1)", "journal_size_limit(67108864)", "cache_size(-16384)", // what many trials write to lies all over the database
		},
	}); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer.DB, s.dir); err != nil {
		return err
	}
	if s.reader, err = openReader(path, readers); err != nil {
		return err
	}
	if s.first, err = openReader(path, firstReaders); err != nil {
		return err
	}
	if err := s.View(ctx, func(t *Tx) error {
		n, err := t.Last()
		s.n.Store(n)
		return err
	}); err != nil {
		return err
	}
	home, err := s.adoptOwner(ctx)
	if err != nil || home == s.dir {
		return err
	}
	if err := s.checkHome(ctx, home); err != nil {
		return err
	}
	return s.Do(ctx, func(t *Tx) error { return t.PutMeta(homeKey, s.dir) })
}

// openReadOnly opens what another process may be working on.
func (s *Store) openReadOnly(ctx context.Context) (err error) {
	path := filepath.Join(s.dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("read state directory: %w", err)
	}
	s.blobs, s.lists = blob.At(filepath.Join(s.dir, "blobs")), blob.At(filepath.Join(s.dir, "lists"))
	if s.reader, err = openReader(path, readers); err != nil {
		return err
	}
	home := ""
	if err := s.View(ctx, func(t *Tx) error {
		version, err := schemaVersion(ctx, t.tx, s.dir)
		if err != nil {
			return err
		}
		if version != len(migrations) {
			return &VersionError{Dir: s.dir, Found: version, Known: len(migrations)}
		}
		if s.owner, err = t.Meta(ownerKey); err != nil {
			return err
		}
		home, err = t.Meta(homeKey)
		return err
	}); err != nil {
		return err
	}
	return s.checkHome(ctx, home)
}

// readerRest is for how long a connection that only reads is kept without work: each holds a
// cache of up to 8 MB, and a start fills them all. The writer's stays, and with it the log
// that all of them share.
const readerRest = 10 * time.Second

// Connections of those who only read: whoever goes first (writequeue.First) has some of its own, because a thousand
// trials that read at once keep all others waiting, too.
const (
	readers      = 4
	firstReaders = 2
)

// openReader opens a pool of n connections for those who only read.
func openReader(path string, n int) (*pool, error) {
	db, err := openPool(path, n, url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)", "cache_size(-8192)"},
	})
	if err == nil {
		db.SetConnMaxIdleTime(readerRest)
	}
	return db, err
}

// openPool opens a pool of at most n connections. Everything a connection needs is in its
// name, because a pragma that is executed reaches only the connection it happens to get.
func openPool(path string, n int, query url.Values) (*pool, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", path, explain(err))
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return newPool(db), nil
}

// Owner is the random id of this state directory, 16 hex digits; it labels containers.
func (s *Store) Owner() string { return s.owner }

// Dir is the absolute path of the state directory.
func (s *Store) Dir() string { return s.dir }

// Blobs is the content-addressed store of the state directory.
func (s *Store) Blobs() *blob.Blobs { return s.blobs }

// keepList keeps what is too long for a line, and returns its path from the state directory and its SHA-256.
func (s *Store) keepList(value []byte) (file, digest string, err error) {
	w, err := s.lists.Create()
	if err != nil {
		return "", "", err
	}
	defer w.Close()
	if _, err := w.Write(value); err != nil {
		return "", "", err
	}
	if digest, _, err = w.Commit(); err != nil {
		return "", "", err
	}
	path, err := s.lists.Path(digest)
	if err != nil {
		return "", "", err
	}
	file, err = filepath.Rel(s.dir, path)
	return filepath.ToSlash(file), digest, err
}

// Lines receives a pulse after a commit that appended lines. Pulses coalesce; it is for
// one receiver.
func (s *Store) Lines() <-chan struct{} { return s.lines }

// Close closes the database and gives the lock back.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*pool{s.reader, s.first, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	// The lock goes last: whoever takes it must find nobody in the database.
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close state directory %q: %w", s.dir, err)
	}
	return nil
}

// Do runs fn in one immediate transaction and makes it durable. An error of fn is returned
// as it is, and nothing of it is stored. Only one Do runs at a time, so fn must be short
// and must not call Do.
func (s *Store) Do(ctx context.Context, fn func(*Tx) error) error {
	if s.writer == nil {
		return fmt.Errorf("write to state directory %q: %w: it is open for reading only", s.dir, statedir.ErrReadOnly)
	}
	if err := s.writers.Enter(ctx); err != nil {
		return fmt.Errorf("wait for a turn to write to state directory %q: %w", s.dir, err)
	}
	defer s.writers.Leave()
	began := time.Now()
	t, err := s.begin(ctx, s.writer, nil)
	if err != nil {
		return err
	}
	defer t.tx.Rollback() // also when fn panics; after a commit it does nothing
	if err := fn(t); err != nil {
		return err
	}
	if err := t.sealed(); err != nil {
		return err
	}
	if err := fault.Err(fault.WriteState); err != nil {
		return fmt.Errorf("commit to state directory %q: %w", s.dir, explain(err))
	}
	s.n.Store(max(t.n, s.n.Load())) // also where the commit fails: it may be there all the same
	if err := t.tx.Commit(); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			err = context.Cause(ctx) // the driver was faster to roll back
		}
		return fmt.Errorf("commit to state directory %q: %w", s.dir, explain(err))
	}
	s.commits(time.Since(began))
	if len(t.touched) > 0 {
		s.watchers.Tell(t.n, t.touched)
	}
	if t.appended {
		select {
		case s.lines <- struct{}{}:
		default: // a pulse is waiting already and will cover this one
		}
	}
	return nil
}

// View runs fn on a snapshot that no writer changes; what fn tries to write fails. Views
// run beside each other and beside Do.
func (s *Store) View(ctx context.Context, fn func(*Tx) error) error {
	db := s.reader
	if s.first != nil && writequeue.GoesFirst(ctx) {
		db = s.first
	}
	t, err := s.begin(ctx, db, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer t.tx.Rollback() // there is nothing to commit
	return fn(t)
}

func (s *Store) begin(ctx context.Context, db *pool, o *sql.TxOptions) (*Tx, error) {
	db.keep(ctx)
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("begin transaction in state directory %q: %w", s.dir, explain(err))
	}
	return &Tx{ctx: ctx, tx: tx, store: s, pool: db, statements: map[string]*sql.Stmt{}}, nil
}
