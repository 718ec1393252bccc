package mining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// read has the book find what the source tells, and signals each time.
func (m *Miner) read(ctx context.Context, more chan<- struct{}) error {
	found := func(ctx context.Context, all []Found, mark Mark) error {
		for i, f := range all {
			if class, ok := m.listed[f.Ref]; ok && f.Rejected == nil {
				all[i].Rejected = m.unwanted(class)
			}
		}
		if err := m.o.Book.Find(ctx, all, mark); err != nil {
			return err
		}
		select {
		case more <- struct{}{}:
		default:
		}
		return nil
	}
	switch m.o.Spec.Source.Kind {
	case "search":
		return m.readSearch(ctx, found)
	case "repos":
		return m.readRepos(ctx, found)
	}
	return m.readArchive(ctx, found)
}

// unwanted rejects a pull request of the spec's list, unless the spec wants those of its class. One for
// which a quota has no place is taken up again when the quota is edited.
func (m *Miner) unwanted(class string) *reason.Rejected {
	spec := m.o.Spec
	switch {
	case class == "":
		return &reason.Rejected{Code: ReasonListed, Detail: spec.PRFile}
	case len(spec.Difficulty) > 0 && !slices.Contains(spec.Difficulty, class):
		return &reason.Rejected{Code: ReasonListed, Detail: spec.PRFile + ": it is " + class}
	case spec.Quota != nil && m.places.quota[class] == 0:
		return &reason.Rejected{Code: ReasonEnough, Detail: spec.PRFile + ": it is " + class}
	}
	return nil
}

// readListed reads the spec's own list. What this spec has decided is in it, too.
func (m *Miner) readListed() (map[github.Ref]string, error) {
	all := map[github.Ref]string{}
	if m.o.Spec.PRFile == "" {
		return all, nil
	}
	if err := m.o.Spec.Inside(); err != nil {
		return nil, fmt.Errorf("read the list of pull requests: %w", err)
	}
	file, err := os.Open(m.o.Spec.PRFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil // it is made with the first decision
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of pull requests: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	prs, err := output.ReadPRs(file)
	if err != nil {
		return nil, fmt.Errorf("read the list of pull requests: %w", err)
	}
	for _, pr := range prs {
		all[pr.Ref] = pr.Class
	}
	return all, nil
}

// finder takes in what a source told.
type finder func(ctx context.Context, all []Found, mark Mark) error

const (
	// hourKey begins the marks of an archive's hours.
	hourKey = "hour/"
	// sinceKey is the mark of the first hour that a lookback has reached.
	sinceKey = "since"
)

// hourMark is the value of an hour's mark.
type hourMark struct {
	archive.Past
	Why    string         `json:"why,omitempty"` // it is not read
	Counts archive.Counts `json:"counts"`
}

func hourMarks(ctx context.Context, book Book) (map[time.Time]hourMark, error) {
	marks, err := book.Marks(ctx, hourKey)
	if err != nil {
		return nil, err
	}
	out := make(map[time.Time]hourMark, len(marks))
	for _, mark := range marks {
		var h hourMark
		hour, err := time.Parse(time.RFC3339, strings.TrimPrefix(mark.Key, hourKey))
		if err == nil {
			err = json.Unmarshal([]byte(mark.Value), &h)
		}
		if err != nil {
			return nil, fmt.Errorf("read the mark %s: %w", mark.Key, err)
		}
		out[hour.UTC()] = h
	}
	return out, nil
}

func pastOf(marks map[time.Time]hourMark) func(time.Time) archive.Past {
	return func(hour time.Time) archive.Past { return marks[hour.UTC()].Past }
}

// span are the hours that the spec wants. Where it looks again and again it wants all since it
// looked first: a pass, or the time between two lives, may be longer than the lookback.
func span(ctx context.Context, book Book, spec config.Mining) (s archive.Source, err error) {
	s.Lookback = spec.Source.Lookback
	if s.From, s.To, err = between(spec.Source.From, spec.Source.To); err != nil || spec.Once || !s.From.IsZero() {
		return s, err
	}
	marks, err := book.Marks(ctx, sinceKey)
	if err != nil || len(marks) == 0 {
		return s, err
	}
	if s.Since, err = time.Parse(time.RFC3339, marks[0].Value); err != nil {
		return s, fmt.Errorf("read the mark %s: %w", sinceKey, err)
	}
	return s, nil
}

// noteSince notes where a lookback begins that is to be gone on with.
func (m *Miner) noteSince(ctx context.Context, source archive.Source, now time.Time, found finder) error {
	if m.o.Spec.Once || !source.From.IsZero() || !source.Since.IsZero() {
		return nil
	}
	from, _ := source.Span(now)
	return found(ctx, nil, Mark{sinceKey, from.Format(time.RFC3339)})
}

// hours tells how much of the archive was read; nil where there is none.
func hours(ctx context.Context, book Book, spec config.Mining) (*Hours, error) {
	if spec.Source.Kind != "gharchive" {
		return nil, nil
	}
	marks, err := hourMarks(ctx, book)
	if err != nil {
		return nil, err
	}
	source, err := span(ctx, book, spec)
	if err != nil {
		return nil, err
	}
	h := &Hours{Gaps: []string{}}
	for _, mark := range marks {
		if mark.State == archive.Read {
			h.Read++
		}
	}
	from, to := source.Span(time.Now())
	for _, gap := range archive.Gaps(from, to, pastOf(marks)) {
		h.Gaps = append(h.Gaps, gap.String())
	}
	return h, nil
}

// readArchive reads the hours that the source names and that were not read yet.
func (m *Miner) readArchive(ctx context.Context, found finder) error {
	marks, err := hourMarks(ctx, m.o.Book)
	if err != nil {
		return err
	}
	source, err := span(ctx, m.o.Book, m.o.Spec)
	if err != nil {
		return err
	}
	now := time.Now()
	if err := m.noteSince(ctx, source, now, found); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(m.o.Spec.Concurrency.Archive, 1))
	for _, hour := range source.Hours(now, pastOf(marks)) {
		g.Go(func() error { return m.readHour(ctx, hour, found) })
	}
	return g.Wait()
}

func (m *Miner) readHour(ctx context.Context, hour time.Time, found finder) error {
	log := m.o.Log.With("hour", archive.Name(hour))
	ctx, over := m.working(ctx, "the archive")
	defer over()
	for tries := 1; ; tries++ {
		var all []Found
		mark := hourMark{Past: archive.Past{State: archive.Read, At: time.Now().UTC()}}
		began := time.Now()
		counts, err := m.o.Archive.Hour(ctx, hour, func(merge archive.Merge) error {
			all = append(all, Found{Ref: github.Ref{Repo: merge.Repo, Number: merge.Number}, Rejected: m.early(merge)})
			return nil
		})
		m.spent.since(onArchive, began)
		mark.Counts = counts
		_, damaged := errors.AsType[*archive.Damaged](err)
		_, refused := errors.AsType[*archive.Refused](err)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, archive.ErrMissing), refused && tries >= maxTries:
			mark.State, mark.Why = archive.Missing, err.Error()
			log.Warn("the archive does not have an hour", "error", err)
		case damaged && tries >= maxTries, errors.Is(err, archive.ErrTimeline):
			mark.State, mark.Why = archive.Broken, err.Error()
			log.Warn("an hour of the archive is damaged; what comes before is used", "error", err)
		default:
			log.Warn("read an hour of the archive", "try", tries, "error", err)
			if err := m.patience(ctx, err, tries); err != nil {
				return err
			}
			continue
		}
		value, err := json.Marshal(mark)
		if err != nil {
			return err
		}
		return found(ctx, all, Mark{hourKey + hour.UTC().Format(time.RFC3339), string(value)})
	}
}

// early applies the rules to what the archive tells.
func (m *Miner) early(merge archive.Merge) *reason.Rejected {
	org := merge.Org != ""
	return reason.Of(screen.Early(screen.Candidate{
		Repo: merge.Repo, Number: merge.Number, Author: merge.Author, AuthorType: merge.AuthorType,
		Org: &org, HeadRef: merge.HeadRef, Title: merge.Title,
	}, m.o.Rules))
}

// gather collects what GitHub tells, and hands it on in pages.
type gather struct {
	m     *Miner
	found finder
	all   []Found
}

func (g *gather) add(ctx context.Context, ref github.Ref) error {
	rejected := reason.Of(screen.Early(screen.Candidate{Repo: ref.Repo, Number: ref.Number}, g.m.o.Rules))
	if g.all = append(g.all, Found{Ref: ref, Rejected: rejected}); len(g.all) < pageSize {
		return nil
	}
	return g.flush(ctx)
}

func (g *gather) flush(ctx context.Context) error {
	if len(g.all) == 0 {
		return nil
	}
	all := g.all
	g.all = nil
	return g.found(ctx, all, Mark{})
}

// patiently reads until it has been read to its end, or what is asked for is refused for good.
// What was found stays found.
func (m *Miner) patiently(ctx context.Context, what string, found finder, read func(ctx context.Context, add func(github.Ref) error) error) error {
	ctx, over := m.working(ctx, what)
	defer over()
	for tries := 1; ; tries++ {
		g := &gather{m: m, found: found}
		began := time.Now()
		err := read(ctx, func(ref github.Ref) error { return g.add(ctx, ref) })
		m.spent.since(onGitHub, began)
		if flushed := g.flush(ctx); flushed != nil {
			return flushed
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ours(err):
			return err
		case reason.Of(err) != nil: // a repository that is gone holds up no other
			m.o.Log.Warn("read a source", "what", what, "error", err)
			return nil
		case refused(err) != nil:
			return err
		}
		m.o.Log.Warn("read a source", "what", what, "try", tries, "error", err)
		if err := m.patience(ctx, err, tries); err != nil {
			return err
		}
	}
}

func (m *Miner) readSearch(ctx context.Context, found finder) error {
	s := m.o.Spec.Source
	from, to, err := between(s.From, s.To)
	if err != nil {
		return err
	}
	if from.IsZero() {
		from = time.Date(2010, 8, 31, 0, 0, 0, 0, time.UTC) // there were none before
	}
	if to.IsZero() {
		to = time.Now()
	}
	return m.patiently(ctx, "the search", found, func(ctx context.Context, add func(github.Ref) error) error {
		return m.o.GitHub.Search(ctx, s.Query, from, to, keep{ctx, m.o.Book}, add)
	})
}

func (m *Miner) readRepos(ctx context.Context, found finder) error {
	since, _, err := between(m.o.Spec.Source.Since, "")
	if err != nil {
		return err
	}
	for _, repo := range m.o.Spec.Source.Names {
		err := m.patiently(ctx, repo, found, func(ctx context.Context, add func(github.Ref) error) error {
			return m.o.GitHub.Merged(ctx, repo, since, keep{ctx, m.o.Book}, add)
		})
		if refused(err) != nil {
			m.o.Log.Warn("read a source", "what", repo, "error", err)
			continue // nor does one that GitHub says nothing of
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused is why a source can never be read, nil where that is not so.
func refused(err error) *github.Refused {
	r, _ := errors.AsType[*github.Refused](err)
	return r
}

// between reads the two ends of a time, each of which may be left open. Specs were checked, so
// both forms are right.
func between(from, to string) (a, b time.Time, err error) {
	if a, err = moment(from); err != nil {
		return a, b, err
	}
	b, err = moment(to)
	return a, b, err
}

func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, text)
}

// keep is the book as those see it who ask GitHub.
type keep struct {
	ctx  context.Context // of the call that it is given to
	book Book
}

// whose is the pull request that an answer is about, with which it is forgotten; "" = nobody's.
func whose(key string) string {
	if name := key[strings.LastIndex(key, " ")+1:]; strings.Contains(name, "#") {
		return name
	}
	return ""
}

// Get implements github.Keep.
func (k keep) Get(key string) ([]byte, bool, error) {
	return k.book.Answer(k.ctx, whose(key), key)
}

// Put implements github.Keep. What was answered is kept also when the call is broken off.
func (k keep) Put(values map[string][]byte) error {
	var all []Answer
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, Answer{whose(key), key, values[key]})
	}
	return k.book.Keep(context.WithoutCancel(k.ctx), all...)
}
