package mining

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/triage"
	"github.com/assayd/assayd/runtime/waiting"
)

// pageSize is how many open pull requests are read at once.
const pageSize = 256

// maxBatch is how many pull requests GitHub is asked about at once at most.
const maxBatch = 100

// done reports whether an error says that nothing more is to be done for the spec.
func done(err error) bool { return errors.Is(err, errEnough) || errors.Is(err, errBroke) }

// pass reads the source once and takes every open pull request through the stages. It returns
// nil when nothing is left, *github.Refused when nothing is left and the source will never tell more,
// and errEnough or errBroke when the spec is done. Then nothing more is taken in, and the tasks
// that are being made are still made, as far as that costs nothing.
func (m *Miner) pass(ctx context.Context) error {
	defer m.idle()
	if m.places.full() {
		return errEnough
	}
	var err error
	if m.listed, err = m.readListed(); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	intake, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := m.o.Spec.Concurrency
	more := make(chan struct{}, 1) // the source has told something
	over := make(chan struct{})    // the source has told all
	open := make(chan Candidate, m.o.Spec.Batch)
	wanted := make(chan github.Pull)
	ready := make(chan triaged)
	taking := func(work func(ctx context.Context) error) func() error {
		return func() error {
			err := work(intake)
			if done(err) {
				stop(err)
			}
			if done(context.Cause(intake)) {
				return nil // it was broken off, and whoever makes a task is not
			}
			return err
		}
	}
	var none error // the source will tell nothing more
	g.Go(taking(func(ctx context.Context) error {
		defer close(over)
		err := m.read(ctx, more)
		if refused(err) != nil {
			none, err = err, nil
		}
		return err
	}))
	g.Go(taking(func(ctx context.Context) error {
		defer close(open)
		return m.feed(ctx, open, more, over)
	}))
	stage(g, c.Enrich, wanted, taking(func(ctx context.Context) error { return m.enrich(ctx, open, wanted) }))
	stage(g, c.Classify, ready, taking(func(ctx context.Context) error { return m.triage(ctx, wanted, ready) }))
	stage[triaged](g, c.Deep, nil, func() error {
		err := m.deep(ctx, ready)
		if done(err) {
			stop(err)
			return nil
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if cause := context.Cause(intake); done(cause) {
		return cause
	}
	return none
}

// stage has n goroutines do the same; out is closed when the last one is done.
func stage[T any](g *errgroup.Group, n int, out chan<- T, work func() error) {
	var all sync.WaitGroup
	for range max(n, 1) {
		all.Add(1)
		g.Go(func() error {
			defer all.Done()
			return work()
		})
	}
	if out == nil {
		return
	}
	g.Go(func() error {
		all.Wait()
		close(out)
		return nil
	})
}

// feed hands on the open pull requests in order, until the source is over.
func (m *Miner) feed(ctx context.Context, to chan<- Candidate, more, over <-chan struct{}) error {
	var last int64
	for ended := false; ; {
		select { // before the page is read: what is found later has another signal
		case <-over:
			ended = true
		default:
		}
		page, err := m.o.Book.Open(ctx, last, pageSize)
		if err != nil {
			return err
		}
		for _, c := range page {
			if err := m.mayBegin(ctx); err != nil {
				return err
			}
			if err := send(ctx, to, c); err != nil {
				return err
			}
			last = c.Place
		}
		switch {
		case len(page) > 0:
			continue
		case ended:
			return nil
		}
		select {
		case <-more:
		case <-over:
			ended = true
			more = nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// batch takes what is there, at least one and at most n.
func batch(ctx context.Context, from <-chan Candidate, n int) (all []Candidate, err error) {
	select {
	case c, ok := <-from:
		if !ok {
			return nil, nil
		}
		all = append(all, c)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for len(all) < n {
		select {
		case c, ok := <-from:
			if !ok {
				return all, nil
			}
			all = append(all, c)
		default:
			return all, nil
		}
	}
	return all, nil
}

// enrich asks GitHub about pull requests, some at once, and hands on those that the rules let
// pass.
func (m *Miner) enrich(ctx context.Context, from <-chan Candidate, to chan<- github.Pull) error {
	for {
		all, err := batch(ctx, from, min(m.o.Spec.Batch, maxBatch))
		if err != nil || len(all) == 0 {
			return err
		}
		refs := make([]github.Ref, len(all))
		for i, c := range all {
			refs[i] = c.Ref
			m.enter(c.Ref, StageEnrich)
		}
		if err := m.know(ctx, refs, to); err != nil {
			return err
		}
	}
}

// maxSilent is how many calls that tell nothing of any pull request are taken for trouble of
// GitHub's, some ten minutes of them. A few pull requests that it never tells of look the same.
const maxSilent = 15

// silence is the trouble of the last outcome where none tells anything.
func silence(outcomes []github.Outcome) (err error) {
	for _, out := range outcomes {
		if err = out.Err; err == nil || reason.Of(err) != nil {
			return nil
		}
	}
	return err
}

// know asks until it is known what to do with each of some pull requests.
func (m *Miner) know(ctx context.Context, refs []github.Ref, to chan<- github.Pull) error {
	asking, over := m.working(ctx, "GitHub")
	defer over()
	for tries, waits, silent := 1, 0, 0; len(refs) > 0; {
		asked := time.Now()
		outcomes, err := m.o.GitHub.Pulls(asking, refs, m.mostFiles(), keep{ctx, m.o.Book})
		m.spent.since(onGitHub, asked)
		if err == nil && silent < maxSilent {
			if err = silence(outcomes); err != nil {
				silent++
			}
		}
		if err != nil {
			if ours(err) {
				return err
			}
			waits++ // it says nothing of these pull requests
			if err := m.patience(asking, err, waits); err != nil {
				return err
			}
			continue
		}
		waiting.Because(asking, nil)
		var trouble error
		refs, waits = nil, 0
		for _, out := range outcomes {
			again, err := m.screened(ctx, out, tries, to)
			if err != nil {
				return err
			}
			if again {
				refs, trouble = append(refs, out.Asked), out.Err
			}
		}
		if len(refs) == 0 {
			break
		}
		if err := m.patience(asking, trouble, tries); err != nil {
			return err
		}
		tries++
	}
	return nil
}

// mostFiles is how many files a pull request may change for all of them to be asked for. Generated
// and vendored ones do not count for the rule, and are many where there are some.
func (m *Miner) mostFiles() int { return max(300, 10*m.o.Rules.Files.Max) }

// screened applies the rules to what GitHub knows of a pull request; again says that it could
// not be known and is to be asked once more.
func (m *Miner) screened(ctx context.Context, out github.Outcome, tries int, to chan<- github.Pull) (again bool, err error) {
	stage := StageEnrich
	if err = out.Err; err == nil {
		stage = StageFilter
		err = screen.Pull(out.Pull, m.o.Rules)
	}
	switch r := reason.Of(err); {
	case err == nil:
		if err := m.renamed(ctx, out); err != nil {
			return false, err
		}
		out.Pull.Ref = out.Asked // it is kept under the name that the source gave it
		return false, send(ctx, to, out.Pull)
	case r != nil:
		return false, m.decide(ctx, Decision{Ref: out.Asked, Verdict: Rejected, Stage: stage, Reason: r.Code, Detail: r.Detail})
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case tries < maxTries:
		m.o.Log.Info("ask about a pull request again", "pull", out.Asked.String(), "error", err)
		return true, nil
	}
	return false, m.decide(ctx, Decision{Ref: out.Asked, Verdict: Failed, Stage: stage, Reason: reasonTrouble, Detail: err.Error()})
}

// triaged is a pull request with what triage thinks of it.
type triaged struct {
	github.Pull
	looks   triage.Classification // without a class nobody asked
	budget  *prBudget
	started time.Time
}

// decision begins one that is made at a stage, with what triage thinks.
func (l *triaged) decision(stage string) Decision {
	return Decision{Stage: stage, Classification: l.looks.Class, DifficultyScore: l.looks.Score, Reasoning: l.looks.Reasoning}
}

// triage asks a model how hard pull requests look, where the spec wants some of them only.
func (m *Miner) triage(ctx context.Context, from <-chan github.Pull, to chan<- triaged) error {
	for p := range from {
		if err := m.mayBegin(ctx); err != nil { // before anything of it is open, or its time runs
			return err
		}
		l := triaged{Pull: p, started: time.Now()}
		m.enter(p.Ref, StageTriage)
		var err error
		if l.budget, err = m.budgetFor(ctx, p.Ref); err != nil {
			return err
		}
		if len(m.o.Spec.Difficulty) > 0 || m.o.Spec.Quota != nil {
			err = m.look(ctx, &l)
		}
		if err != nil {
			err = m.give(ctx, &l, l.decision(StageTriage), err)
		} else if err = send(ctx, to, l); err != nil {
			l.budget.close()
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// look finds out how hard a pull request looks: by the list of the spec, else a model is asked.
func (m *Miner) look(ctx context.Context, l *triaged) error {
	if class := m.listed[l.Ref]; class != "" {
		l.looks = triage.Classification{Class: class, Reasoning: "It is listed so in " + m.o.Spec.PRFile + "."}
		return m.refuse(class)
	}
	return m.attempt(ctx, l.budget, func(ctx context.Context) (err error) {
		if l.looks, err = triage.Triage(ctx, l.budget.ask(StageTriage), l.Title, l.Body); err != nil {
			return err
		}
		return m.refuse(l.looks.Class)
	})
}

// refuse rejects a pull request that looks as hard as no task is wanted.
func (m *Miner) refuse(class string) error {
	switch wanted := m.o.Spec.Difficulty; {
	case len(wanted) > 0 && !slices.Contains(wanted, class):
		return reason.Reject(ReasonDifficulty, "it looks %s", class)
	case len(wanted) == 0 && !m.places.wants(class):
		return enoughOf(class)
	}
	return nil
}

// deep makes tasks.
func (m *Miner) deep(ctx context.Context, from <-chan triaged) error {
	for l := range from {
		if err := m.mayBegin(ctx); err != nil {
			l.budget.close()
			return err
		}
		if err := m.one(ctx, &l); err != nil {
			return err
		}
		if m.places.full() {
			return errEnough
		}
	}
	return ctx.Err()
}

// one takes a pull request from a place for its task to its end.
func (m *Miner) one(ctx context.Context, l *triaged) error {
	m.enter(l.Ref, StageExtract)
	class := l.looks.Class
	if m.o.Spec.Quota == nil {
		class = ""
	}
	held, refused, err := m.places.take(ctx, class, present(l.Pull).Repo)
	if err != nil {
		l.budget.close()
		return err
	}
	if refused != "" {
		if refused == ReasonEnough && m.places.full() {
			l.budget.close()
			return errEnough // it stays open, and is ended with the others
		}
		return m.give(ctx, l, l.decision(StageTriage), reason.Reject(refused, "the spec has enough of these"))
	}
	defer held.release()
	maker := pipeline{m: m, pull: l, held: held}
	err = m.attempt(ctx, l.budget, maker.make)
	if given := m.give(ctx, l, maker.decision, err); given != nil || err != nil {
		return given
	}
	held.keep()
	return nil
}

// give ends a pull request with its decision: accepted, or what err says.
func (m *Miner) give(ctx context.Context, l *triaged, d Decision, err error) error {
	defer l.budget.close()
	d.Ref, d.Duration = l.Ref, time.Since(l.started)
	r := reason.Of(err)
	switch {
	case err == nil:
		d.Verdict = Accepted
	case ctx.Err() != nil, done(err), ours(err):
		return err // it stays open
	case r != nil:
		d.Verdict, d.Reason, d.Detail = Rejected, r.Code, r.Detail
	case errors.Is(err, errPerTask):
		d.Verdict, d.Reason, d.Detail = Failed, reasonPerTask, err.Error()
	default:
		d.Verdict, d.Reason, d.Detail = Failed, reasonTrouble, err.Error()
	}
	if d.Usage, err = m.paid(ctx, l.Ref); err != nil {
		return err
	}
	return m.decide(ctx, d)
}
