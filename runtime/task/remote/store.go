package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/keylock"

	"github.com/assayd/assayd/runtime/kernel"
)

// Options say where copies are kept and how they are fetched.
type Options struct {
	Dir   string // of the copies, of this store alone
	Hub   string // base URL
	Token string // for the hub; "" = none
	Most  int64  // bytes that one copy may have; 0 = 32 GiB
	// Full reports whether no more should be written; nil = never.
	Full func() bool
}

const defaultMost = 32 << 30

// Store keeps copies in a folder. Its methods may be called at once.
type Store struct {
	o      Options
	git    git.Git
	client *http.Client
	pause  func(ctx context.Context, d time.Duration) error // before something is tried again

	use  sync.RWMutex  // held for writing while a copy is replaced or removed
	busy keylock.Locks // by key, while one fetches
}

// Copy is a dataset on this machine.
type Copy struct {
	Dir      string
	Revision string   // commit, or "sha256:" with the checksum of the file
	LeftOut  []string // what is in the source and not here, with the reason
}

// Progress is how far a fetch is.
type Progress struct {
	Done, Total int64 // bytes; Total 0 = not known
}

// ErrAbsent says that there is no copy yet.
var ErrAbsent = errors.New("there is no copy of it yet")

// Open makes the folder. Nothing is fetched.
func Open(o Options) (*Store, error) {
	if o.Most == 0 {
		o.Most = defaultMost
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	o.Hub = strings.TrimRight(o.Hub, "/")
	dir, err := filepath.Abs(o.Dir) // Git works in other folders
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of datasets: %w", err)
	}
	g, err := newGit(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Store{o: o, git: g, client: newClient(), pause: clock.Sleep}, nil
}

// Close lets go of connections. No call may be under way.
func (s *Store) Close() { s.client.CloseIdleConnections() }

// record is what is kept beside the data of a copy.
type record struct {
	Source   string
	Revision string
	Folder   string // name of the folder with the data
	Dir      string // slash-separated folder in it that was asked for
	Tag      string // ETag of a file
	LeftOut  []string
}

const (
	recordName  = "copy.json"
	partialName = "partial"
)

// Use gives f the copy that there is, which stays until f returns; errors.Is(err, ErrAbsent)
// if there is none.
func (s *Store) Use(src Source, f func(Copy) error) error {
	p, err := src.place()
	if err != nil {
		return err
	}
	s.use.RLock()
	defer s.use.RUnlock()
	key := p.key(s.o.Hub)
	r, err := s.record(key)
	if err != nil {
		return err
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(s.o.Dir, key, recordName), now, now) // for Tidy, which may be wrong by one use
	return f(s.copyOf(key, r))
}

func (s *Store) record(key string) (r record, err error) {
	text, err := os.ReadFile(filepath.Join(s.o.Dir, key, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrAbsent
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the copy of a dataset: %w", err)
	}
	return r, nil
}

func (s *Store) copyOf(key string, r record) Copy {
	return Copy{Dir: filepath.Join(s.o.Dir, key, r.Folder, filepath.FromSlash(r.Dir)), Revision: r.Revision, LeftOut: r.LeftOut}
}

// errUnchanged says that the copy is of the revision that the source has now.
var errUnchanged = errors.New("the source has not changed")

// job is one fetch under way.
type job struct {
	*Store
	place
	partial string // folder of what is under way: what is made of it lies in data
	old     string // folder of the data of the copy that there is; "" = there is none
	have    record
	tell    func(Progress)
}

func (j *job) data() string { return filepath.Join(j.partial, "data") }

// Fetch has the copy be of the revision that the source has now, and returns it. Calls for
// one source wait for each other. A call that ends early has the next one go on where it was.
// What goes wrong is told without passwords and tokens; a copy that there is stays then.
func (s *Store) Fetch(ctx context.Context, src Source, tell func(Progress)) (c Copy, err error) {
	p, err := src.place()
	if err != nil {
		return c, err
	}
	key := p.key(s.o.Hub)
	leave, err := s.busy.Lock(ctx, key)
	if err != nil {
		return c, err
	}
	defer leave()
	home := filepath.Join(s.o.Dir, key)
	j := &job{Store: s, place: p, partial: filepath.Join(home, partialName), tell: tell}
	j.have, err = s.record(key)
	switch {
	case err == nil && src.Fixed():
		return s.copyOf(key, j.have), nil
	case err == nil:
		j.old = filepath.Join(home, j.have.Folder)
	case !errors.Is(err, ErrAbsent):
		return c, err
	}
	if err := os.MkdirAll(j.partial, 0o700); err != nil {
		return c, fmt.Errorf("fetch %s: %w", src, err)
	}
	r, err := j.fetch(ctx)
	if errors.Is(err, errUnchanged) || err == nil && r.Revision == j.have.Revision {
		return s.copyOf(key, j.have), os.RemoveAll(j.partial)
	}
	if err != nil {
		return c, fmt.Errorf("fetch %s: %w", src, err)
	}
	r.Source, r.Dir = src.String(), p.dir
	if r, err = s.commit(home, j.partial, r); err != nil {
		return c, fmt.Errorf("keep a copy of %s: %w", src, err)
	}
	c = s.copyOf(key, r)
	if _, err := os.Stat(c.Dir); err != nil {
		return c, fmt.Errorf("fetch %s: it has no folder %q", src, p.dir)
	}
	return c, nil
}

func (j *job) fetch(ctx context.Context) (record, error) {
	switch j.kind {
	case repository:
		return j.clone(ctx)
	case download:
		return j.get(ctx)
	}
	return j.snapshot(ctx)
}

// commit makes what lies in a partial folder the copy. It is on the disk before anything says
// that it is there.
func (s *Store) commit(home, partial string, r record) (record, error) {
	if err := kernel.SyncFS(partial); err != nil {
		return r, err
	}
	before, err := s.record(filepath.Base(home))
	if err != nil && !errors.Is(err, ErrAbsent) {
		return r, err
	}
	r.Folder = "data-a"
	if before.Folder == r.Folder {
		r.Folder = "data-b"
	}
	target := filepath.Join(home, r.Folder)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, err
	}
	s.use.Lock()
	defer s.use.Unlock()
	if err := errors.Join(os.RemoveAll(target), os.Rename(filepath.Join(partial, "data"), target), kernel.SyncFS(home)); err != nil {
		return r, err
	}
	if err := renameio.WriteFile(filepath.Join(home, recordName), text, 0o600); err != nil {
		return r, err
	}
	if before.Folder != "" {
		err = os.RemoveAll(filepath.Join(home, before.Folder))
	} else {
		err = nil
	}
	return r, errors.Join(err, os.RemoveAll(partial))
}

// Tidy removes the copies, and what was begun of copies, that nobody has used for that long.
func (s *Store) Tidy(unused time.Duration) error {
	s.use.Lock()
	defer s.use.Unlock()
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		home := filepath.Join(s.o.Dir, e.Name())
		leave, free := s.busy.TryLock(e.Name())
		if !free {
			continue
		}
		if e.IsDir() && time.Since(lastUsed(home)) >= unused {
			err = errors.Join(err, os.RemoveAll(home))
		}
		leave()
	}
	return err
}

// lastUsed is when a copy was used, or else when something was done about it.
func lastUsed(home string) (last time.Time) {
	for _, name := range []string{".", recordName, partialName, partialName + "/" + stateName} {
		if info, err := os.Stat(filepath.Join(home, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// room is what a copy may still grow by.
type room struct {
	full func() bool

	mu   sync.Mutex
	left int64
	look int64 // bytes until the disk is looked at again
}

var errFull = errors.New("the disk is nearly full")

func (j *job) room() *room { return &room{left: j.o.Most, full: j.o.Full} }

// take takes n bytes of it.
func (r *room) take(n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left -= n; r.left < 0 {
		return errors.New("it is larger than a copy may be")
	}
	if r.look -= n; r.look < 0 {
		r.look = 16 << 20
		if r.full() {
			return errFull
		}
	}
	return nil
}
