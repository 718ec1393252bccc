package layer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/fault"

	"github.com/assayd/assayd/runtime/kernel"
)

// DefaultRegistry is where npm packages are had when the settings name no mirror.
const DefaultRegistry = "https://registry.npmjs.org"

// Options say how a registry is reached.
type Options struct {
	Registry string       // base URL, perhaps with a password; "" = DefaultRegistry
	Proxy    string       // URL of the proxy on the way to it; "" = what the environment says
	Client   *http.Client // nil = one of the store's own
	Log      *slog.Logger // nil = nothing is logged
}

// Layer is a folder that never changes.
type Layer struct {
	Digest string // lower-case hex SHA-256 of what it is made from
	Dir    string // absolute; to be mounted read-only
}

// Store keeps layers in a folder, which several processes may share. Its methods may be
// called at once.
type Store struct {
	dir      string
	registry *registry
	log      *slog.Logger
	flights  flights
	use      sync.RWMutex // held for writing while a layer loses its name
}

// Open makes the folder and removes what makers left in it that were killed. Nothing is
// fetched.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store of agent layers: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r, err := newRegistry(o)
	if err != nil {
		return nil, fmt.Errorf("open the store of agent layers: %w", err)
	}
	s := &Store{dir: dir, registry: r, log: o.Log}
	for _, folder := range []string{s.layers(), s.locks(), s.versions(), s.workshop()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("open the store of agent layers: %w", err)
		}
	}
	if err := s.tidy(); err != nil {
		return nil, fmt.Errorf("tidy the store of agent layers: %w", err)
	}
	return s, nil
}

// Close lets go of connections. No call may be under way.
func (s *Store) Close() { s.registry.client.CloseIdleConnections() }

func (s *Store) layers() string   { return filepath.Join(s.dir, "layers") }
func (s *Store) locks() string    { return filepath.Join(s.dir, "locks") }
func (s *Store) versions() string { return filepath.Join(s.dir, "versions") }
func (s *Store) workshop() string { return filepath.Join(s.dir, "work") }

// folder of a layer, whether it exists or not.
func (s *Store) folder(digest string) string { return filepath.Join(s.layers(), digest) }

// work is where a layer takes shape; whoever uses it holds the layer's lock.
func (s *Store) work(digest string) string { return filepath.Join(s.workshop(), digest) }

// Names of what is in the folder of a layer's work, beside downloads.
const (
	treeName = "tree" // the layer, not whole yet
	goneName = "gone" // the layer, which is being removed
)

// Tree returns the layer of a container image's files. of names what they are and never
// means anything else: the image's digest. open is called when there is no such layer yet,
// and gives a tar of all the files. Devices and pipes are left out; a link leads to where it
// leads in the image, and never out of the layer.
func (s *Store) Tree(ctx context.Context, of string, open func(context.Context) (io.ReadCloser, error)) (Layer, error) {
	digest := digestOf("tree " + of)
	if l, ok := s.have(digest); ok {
		return l, nil
	}
	l, err := s.flights.do(ctx, digest, func(ctx context.Context) (Layer, error) {
		return s.make(ctx, digest, func(work string) (err error) {
			files, err := open(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, files.Close()) }()
			return unpackImage(ctx, files, filepath.Join(work, treeName))
		})
	})
	if err != nil {
		return Layer{}, fmt.Errorf("make a layer of the files of %s: %w", of, err)
	}
	return l, nil
}

// digestOf is the digest of a layer that is made from that.
func digestOf(sources ...string) string {
	sum := sha256.Sum256([]byte("assayd layer 1\n" + strings.Join(sources, "\n")))
	return hex.EncodeToString(sum[:])
}

// have returns a layer that is there. That it has its name means that it is whole.
func (s *Store) have(digest string) (Layer, bool) {
	s.use.RLock()
	defer s.use.RUnlock()
	dir := s.folder(digest)
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil { // so that Collect sees that it is wanted
		return Layer{}, false
	}
	return Layer{Digest: digest, Dir: dir}, true
}

// make has fill lay out a layer in the folder treeName of its work, and gives it its name.
func (s *Store) make(ctx context.Context, digest string, fill func(work string) error) (l Layer, err error) {
	unlock, err := s.lock(ctx, digest)
	if err != nil {
		return l, err
	}
	defer unlock()
	if l, ok := s.have(digest); ok {
		return l, nil // another process made it
	}
	begun := time.Now()
	work := s.work(digest)
	tree := filepath.Join(work, treeName)
	if err := errors.Join(os.RemoveAll(tree), os.MkdirAll(work, 0o700), os.Mkdir(tree, 0o755)); err != nil {
		return l, err
	}
	if err = fill(work); err == nil {
		err = s.place(tree, digest)
	}
	if err != nil {
		return l, errors.Join(err, abandon(work))
	}
	if err := os.RemoveAll(work); err != nil {
		s.log.Warn("what a layer was made with could not be removed yet", "folder", work, "error", err)
	}
	s.log.Info("made an agent layer", "digest", digest, "took", time.Since(begun).Round(time.Millisecond))
	return Layer{Digest: digest, Dir: s.folder(digest)}, nil
}

// place gives a tree its name, under which it is never less than whole.
func (s *Store) place(tree, digest string) error {
	if err := os.Chmod(tree, 0o755); err != nil { // whatever the umask says
		return err
	}
	if err := kernel.SyncFS(tree); err != nil {
		return err
	}
	fault.Reached(fault.LayerUnpacked)
	if err := os.Rename(tree, s.folder(digest)); err != nil {
		return err
	}
	fault.Reached(fault.LayerRenamed)
	return kernel.SyncFS(s.layers())
}
