package daemon

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/gitsync"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/results"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
)

// openGit prepares the repository that specs come from, and makes it one of the roots. It
// also keeps result files out of what Git says of other roots.
func (d *Daemon) openGit(ctx context.Context, secret func(string) (string, bool)) (err error) {
	if d.opts.Settings.ResultsDir == "" && !d.opts.Idle {
		gitsync.Exclude(d.opts.Roots, d.opts.Log)
	}
	settings := d.opts.Settings
	if !d.opts.Follow || settings.Git == nil {
		return nil
	}
	d.git, err = gitsync.Open(ctx, gitsync.Options{
		Git: *settings.Git, GitHub: settings.GitHub, Secret: secret, State: d.store.Dir(), Log: d.opts.Log,
		Took: func(ctx context.Context, changed []string) (config.Diagnostics, error) {
			return d.rec.Took(ctx, changed)
		},
		Results: d.gitResults,
		Moved: func() {
			if d.writer != nil { // else it looks at all files first
				d.writer.Recheck()
			}
		},
	})
	if err == nil {
		d.opts.Roots = append(slices.Clip(d.opts.Roots), gitsync.Root(d.store.Dir(), *settings.Git))
	}
	return err
}

// checkout is the repository as the reconciler sees it, nil if there is none.
func (d *Daemon) checkout() *specs.Checkout {
	if d.git == nil {
		return nil
	}
	return d.git.Checkout()
}

// gitResults lists the result files of the repository's specs. Below results_dir nothing
// tells them from others, so there they are told by their specs.
func (d *Daemon) gitResults(ctx context.Context) (list []gitsync.Result, err error) {
	root := gitsync.Root(d.store.Dir(), *d.opts.Settings.Git)
	err = d.store.View(ctx, func(tx *store.Tx) error {
		all, err := tx.Streams()
		for _, s := range all {
			path := s.Path
			if dir := d.opts.Settings.ResultsDir; dir != "" && s.Root == dir && len(d.opts.Roots) == 1 {
				path = filepath.Join(root, strings.TrimPrefix(path, dir))
			}
			if s.File != "" && strings.HasPrefix(path, root+"/") {
				list = append(list, gitsync.Result{Path: filepath.Join(filepath.Dir(path), filepath.Base(s.File)), File: s.File})
			}
		}
		return err
	})
	return list, err
}

// projection is the store for the writer of result files. Where these are pushed, the
// repository hears of each that has grown.
func (d *Daemon) projection() results.Source {
	source := ledger.Projection(d.store)
	if d.git == nil || d.opts.Settings.Git.PushResults == "" {
		return source
	}
	return heard{source, d.git}
}

type heard struct {
	results.Source
	git *gitsync.Syncer
}

// Mark implements results.Source.
func (h heard) Mark(ctx context.Context, streams []results.Stream) error {
	err := h.Source.Mark(ctx, streams)
	if err != nil {
		return err
	}
	complete := false
	for _, s := range streams {
		lines, err := h.Lines(ctx, s.ID, s.Last)
		for _, l := range lines {
			complete = complete || bytes.Contains(l.Data[:min(len(l.Data), 200)], []byte(`"type":"run.finished"`))
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	h.git.Wrote(complete)
	return nil
}
