package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/hostinfo"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/remote"
)

// How datasets are fetched.
const (
	fetchers   = 2                // at once, of what nobody waits for in a request
	firstRetry = 30 * time.Second // after a failure; it doubles
	lastRetry  = 30 * time.Minute
	justNow    = 30 * time.Second    // what was looked up since is not looked up again for another request
	unusedCopy = 30 * 24 * time.Hour // after which a copy goes
	tidyEvery  = 24 * time.Hour
)

// fetcher has the datasets that lie elsewhere come to this machine, in the background or for a
// request. Of each it knows whether the copy is as new as who asks for it wants it.
type fetcher struct {
	store *remote.Store
	log   *slog.Logger
	came  func(ctx context.Context, files []string) error // has spec files looked at again

	mu   sync.Mutex
	all  map[remote.Source]*dataset
	wake chan struct{}
	age  int // raised when every branch is to be looked up anew
}

// dataset is one that lies elsewhere.
type dataset struct {
	asked    map[string]string // spec files that name it, with the text that asked last
	seen     map[string]string // and with the text for which it was looked up last
	taken    map[string]string // asked when the fetch began that is under way in the background
	age      int
	wanted   bool      // to be fetched, from due on
	due      time.Time // zero = at once
	under    bool      // it is being fetched in the background
	failures int
	err      error // of the last try
	looked   time.Time
	progress remote.Progress
}

// OpenDatasets keeps copies of datasets in a folder, with the hub of the settings.
func OpenDatasets(settings *config.Settings, dir string) (*remote.Store, error) {
	hub := settings.HuggingFace
	o := remote.Options{Dir: dir, Hub: hub.BaseURL, Full: func() bool { return hostinfo.NearlyFull(dir) }}
	if !hub.Token.IsZero() {
		token, ok := hub.Token.Value(ConfigOptions(settings).Secret)
		if !ok {
			return nil, fmt.Errorf("settings: huggingface.token: the secret %q cannot be read", hub.Token.Name())
		}
		o.Token = strings.TrimSpace(token)
	}
	return remote.Open(o)
}

// openDatasets prepares the fetching of datasets, and how specs import them.
func (d *Daemon) openDatasets(ctx context.Context, keep task.Trees, options *config.Options) (query.Datasets, error) {
	store, err := OpenDatasets(d.opts.Settings, filepath.Join(d.store.Dir(), "datasets"))
	if err != nil {
		return query.Datasets{}, err
	}
	d.datasets = newFetcher(store, d.opts.Log)
	d.datasets.came = func(ctx context.Context, files []string) error { return d.rec.Fetched(ctx, files) }
	importer := Importer{Trees: keep, ctx: ctx, datasets: d.datasets}
	peek := importer.Import
	importer.begin = true
	options.Import = importer.Import
	return query.Datasets{Fetch: d.datasets.fetch, Peek: peek, Progress: d.datasets.far}, nil
}

func newFetcher(store *remote.Store, log *slog.Logger) *fetcher {
	return &fetcher{store: store, log: log, all: map[remote.Source]*dataset{}, wake: make(chan struct{}, fetchers)}
}

func sourceOf(i config.Import) remote.Source {
	return remote.Source{URL: i.URL, Ref: i.Ref, Dataset: i.Dataset, Revision: i.Revision}
}

// of returns what is known of a source; with mu held.
func (f *fetcher) of(src remote.Source) *dataset {
	d := f.all[src]
	if d == nil {
		d = &dataset{asked: map[string]string{}, seen: map[string]string{}, age: f.age}
		f.all[src] = d
	}
	return d
}

// current reports whether the copy of an import may be used as it is, and why the last try to
// make it so failed, if it did. If it may not, it is fetched in the background.
func (f *fetcher) current(i config.Import) (ok bool, failed error) {
	src := sourceOf(i)
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.of(src)
	d.asked[i.File] = i.Text
	stale := i.Text != "" && d.seen[i.File] != i.Text || d.age != f.age
	if !stale || src.Fixed() && f.has(src) {
		return true, d.err
	}
	if !d.wanted && !d.under {
		d.wanted, d.due = true, time.Time{}
	}
	f.nudge()
	return false, nil
}

// missing has a dataset be fetched of which there is no copy, and tells why there is none if it
// was tried before.
func (f *fetcher) missing(i config.Import) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.of(sourceOf(i))
	if !d.wanted && !d.under && d.err == nil {
		d.wanted, d.due = true, time.Time{}
		f.nudge()
	}
	return d.err
}

func (f *fetcher) has(src remote.Source) bool {
	return f.store.Use(src, func(remote.Copy) error { return nil }) == nil
}

func (f *fetcher) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// renew has every branch be looked up anew before it is used again.
func (f *fetcher) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age++
}

// run fetches what is wanted until the context ends.
func (f *fetcher) run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	for range fetchers {
		workers.Go(func() { f.work(ctx) })
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		if err := f.store.Tidy(unusedCopy); err != nil {
			f.log.Warn("remove copies of datasets that are not used any more", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *fetcher) work(ctx context.Context) {
	for {
		src, wait, ok := f.next(time.Now())
		if ok {
			f.one(ctx, src)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-f.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// next takes one that is due, or says when to look again.
func (f *fetcher) next(now time.Time) (src remote.Source, wait time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = time.Hour
	for src, d := range f.all {
		switch {
		case !d.wanted || d.under:
		case d.due.After(now):
			wait = min(wait, d.due.Sub(now))
		default:
			d.wanted, d.under, d.taken = false, true, maps.Clone(d.asked)
			return src, 0, true
		}
	}
	return src, wait, false
}

// one fetches a dataset in the background, and has the files that name it looked at.
func (f *fetcher) one(ctx context.Context, src remote.Source) {
	f.log.Info("fetching a dataset", "source", src.String())
	c, err := f.store.Fetch(ctx, src, func(p remote.Progress) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.of(src).progress = p
	})
	if ctx.Err() != nil {
		return
	}
	files := f.done(src, nil, err)
	if err != nil {
		f.log.Warn("a dataset could not be fetched; it is tried again", "source", src.String(), "error", err)
	} else {
		f.log.Info("fetched a dataset", "source", src.String(), "revision", c.Revision)
	}
	if err := f.came(ctx, files); err != nil && ctx.Err() == nil {
		f.log.Warn("look at the specs of a dataset", "source", src.String(), "error", err)
	}
}

// done notes how a fetch ended: one for a request, or else one in the background.
func (f *fetcher) done(src remote.Source, request *config.Import, err error) (files []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.of(src)
	if request != nil {
		d.asked[request.File], d.seen[request.File] = request.Text, request.Text
	} else {
		d.under = false
		maps.Copy(d.seen, d.taken)
	}
	d.progress, d.age, d.looked, d.err = remote.Progress{}, f.age, time.Now(), err
	d.failures++
	d.wanted, d.due = err != nil, d.looked.Add(min(firstRetry<<min(d.failures-1, 10), lastRetry))
	if err == nil {
		d.failures, d.due = 0, time.Time{}
	}
	return slices.Sorted(maps.Keys(d.asked))
}

// fetch is query.Datasets.Fetch.
func (f *fetcher) fetch(ctx context.Context, imports []config.Import, tell func(query.Fetch)) {
	for _, i := range imports {
		src := sourceOf(i)
		if src.Check() != nil || f.lookedUp(src, i) {
			continue
		}
		shown := query.Fetch{Source: src.String()}
		tell(shown)
		_, err := f.store.Fetch(ctx, src, func(p remote.Progress) {
			shown.Done, shown.Total = p.Done, p.Total
			tell(shown)
		})
		if ctx.Err() != nil {
			return
		}
		f.done(src, &i, err)
		shown.Over = true
		tell(shown)
	}
}

// lookedUp reports whether that was done for another request a moment ago.
func (f *fetcher) lookedUp(src remote.Source, i config.Import) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.of(src)
	if d.looked.IsZero() || time.Since(d.looked) > justNow || d.err != nil && d.seen[i.File] != i.Text {
		return false
	}
	d.asked[i.File], d.seen[i.File] = i.Text, i.Text
	return true
}

// far is query.Datasets.Progress.
func (f *fetcher) far(i config.Import) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return farOf(f.of(sourceOf(i)).progress)
}

func farOf(p remote.Progress) string {
	switch {
	case p.Done == 0:
		return ""
	case p.Total == 0:
		return humanize.Bytes(uint64(p.Done)) //nolint:gosec // not negative
	}
	return fmt.Sprintf("%s of %s", humanize.Bytes(uint64(p.Done)), humanize.Bytes(uint64(p.Total))) //nolint:gosec // not negative
}
