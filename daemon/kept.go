package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
)

// Source is where tasks are taken from that are to be written in another format, without a
// daemon.
type Source struct {
	Set   *config.Set // nil for a folder of tasks
	Trees task.Trees

	dir   string // of its own
	store *store.Store
}

// InForce are the specs that a state directory has in force, whether a daemon runs there or
// not. errors.Is(err, fs.ErrNotExist) where there is no state.
func InForce(ctx context.Context, settings *config.Settings, state string) (_ *Source, err error) {
	s, err := newSource(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer s.closeOn(&err)
	if s.store, err = store.Open(ctx, state, store.Options{ReadOnly: true}); err != nil {
		return nil, err
	}
	open := s.Trees.(keptTrees) //nolint:forcetypeassert // newSource made it
	open.open = s.store.Blobs().Open
	s.Trees = open
	s.Set, err = specs.InForce(ctx, s.store, ConfigOptions(settings))
	return s, err
}

// Specs are spec files as they are now.
func Specs(ctx context.Context, settings *config.Settings, inputs []config.Input) (_ *Source, err error) {
	s, err := newSource(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer s.closeOn(&err)
	options := ConfigOptions(settings)
	options.Snapshot = func(dir string) (string, error) {
		tree, err := s.Trees.Keep(dir)
		return tree.Digest, err
	}
	hub, err := OpenDatasets(settings, filepath.Join(s.dir, "datasets"))
	if err != nil {
		return nil, err
	}
	defer hub.Close()
	datasets := newFetcher(hub, slog.New(slog.DiscardHandler))
	datasets.fetch(ctx, config.Imports(inputs, options), func(query.Fetch) {})
	options.Import = Importer{Trees: s.Trees, ctx: ctx, datasets: datasets, begin: true}.Import
	s.Set = config.Load(inputs, nil, options)
	return s, ctx.Err()
}

// Folder is a folder or a file of tasks in a format.
func Folder(ctx context.Context, settings *config.Settings) (*Source, error) {
	return newSource(ctx, settings)
}

func newSource(ctx context.Context, settings *config.Settings) (*Source, error) {
	dir, err := os.MkdirTemp("", "assayd-export-")
	if err != nil {
		return nil, err
	}
	lent, err := buildSecrets(settings, ConfigOptions(settings).Secret)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	trees := keptTrees{ctx: ctx, dir: dir, builder: image.New(image.Options{CacheDir: filepath.Join(dir, "git"), BuildSecrets: lent, Log: slog.New(slog.DiscardHandler)})}
	trees.open = func(digest string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, digest)) }
	return &Source{Trees: trees, dir: dir}, nil
}

// Close removes what was kept.
func (s *Source) Close() error {
	err := os.RemoveAll(s.dir)
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

func (s *Source) closeOn(err *error) {
	if *err != nil {
		*err = errors.Join(*err, s.Close())
	}
}

// keptTrees keeps trees as files of a folder.
type keptTrees struct {
	ctx     context.Context
	dir     string
	open    func(digest string) (io.ReadCloser, error)
	builder *image.Builder
}

// Keep implements task.Trees.
func (t keptTrees) Keep(dir string) (_ task.Tree, err error) {
	out, err := os.CreateTemp(t.dir, "tree-")
	if err != nil {
		return task.Tree{}, err
	}
	sum := sha256.New()
	if err = errors.Join(config.Pack(dir, io.MultiWriter(out, sum)), out.Close()); err != nil {
		return task.Tree{}, fmt.Errorf("keep folder %s: %w", dir, err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	return task.Tree{Digest: digest}, os.Rename(out.Name(), filepath.Join(t.dir, digest))
}

// Open implements task.Trees.
func (t keptTrees) Open(tree task.Tree) (io.ReadCloser, error) { return t.open(tree.Digest) }

// Clone implements task.Trees.
func (t keptTrees) Clone(repo task.Repo) (io.ReadCloser, error) {
	return t.builder.Mirrors().Clone(t.ctx, repo)
}
