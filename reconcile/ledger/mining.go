package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/mining/workbench"
)

// Mining keeps what the miner of one spec must not forget in the store, with the records of it. It implements
// mining.Book. Its fields must not change once it is in use; it may be used by any goroutine.
type Mining struct {
	Store  *store.Store
	Spec   config.Mining
	Stream store.StreamRef // of the records
	Log    *slog.Logger
	TakeIn func(mining.Mined) error // called for each task once it is stored

	listing sync.Mutex            // held by who adds to the list of decided pull requests
	classes map[github.Ref]string // of those that are listed with one
}

func (b *Mining) address() string { return b.Spec.Address() }

func (b *Mining) line(tx *store.Tx, typ string, fields any) error {
	_, err := tx.AppendLine(b.Stream, store.Envelope{Type: typ, Spec: b.address(), Generation: b.Spec.Generation}, fields)
	return err
}

// pullRecord is the record of a pull request.
type pullRecord struct {
	Repo            string        `json:"repo"`
	Number          int           `json:"number"`
	Verdict         string        `json:"verdict"`
	Stage           string        `json:"stage"`
	Reason          string        `json:"reason"`
	Detail          string        `json:"detail,omitempty"`
	Classification  string        `json:"classification"`
	DifficultyScore float64       `json:"difficulty_score"`
	QualityScore    float64       `json:"quality_score"`
	Reasoning       string        `json:"reasoning"`
	Usage           gateway.Usage `json:"usage"`
	CostUSD         float64       `json:"cost_usd"`
	DurationS       float64       `json:"duration_s"`
	Task            string        `json:"task"`
}

// taskMined is the record of a task.
type taskMined struct {
	Task       string `json:"task"`
	Dir        string `json:"dir"`
	Language   string `json:"language"`
	Difficulty string `json:"difficulty"`
	FailToPass int    `json:"fail_to_pass"`
	PassToPass int    `json:"pass_to_pass"`
}

// Find implements mining.Book.
func (b *Mining) Find(ctx context.Context, found []mining.Found, mark mining.Mark) error {
	var decided []output.PR
	err := b.Store.Do(ctx, func(tx *store.Tx) error {
		decided = decided[:0]
		for _, f := range found {
			fresh, err := tx.FindPull(b.address(), f.Ref.Repo, f.Ref.Number)
			if err != nil {
				return err
			}
			if !fresh || f.Rejected == nil {
				continue
			}
			d := mining.Decision{
				Ref: f.Ref, Verdict: mining.Rejected, Stage: mining.StageSource, Reason: f.Rejected.Code, Detail: f.Rejected.Detail,
			}
			if err := b.decide(tx, d); err != nil {
				return err
			}
			if pr, ok := listable(d.Ref, d.Reason, d.Classification); ok {
				decided = append(decided, pr)
			}
		}
		if mark.Key == "" {
			return nil
		}
		return tx.PutAnswer(b.address(), "", mark.Key, []byte(mark.Value))
	})
	fault.Reached(fault.PullsFound)
	if err == nil {
		b.list(decided...)
	}
	return err
}

// Marks implements mining.Book.
func (b *Mining) Marks(ctx context.Context, prefix string) (marks []mining.Mark, err error) {
	err = b.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Answers(b.address(), prefix)
		for _, row := range rows {
			marks = append(marks, mining.Mark{Key: row.Key, Value: string(row.Value)})
		}
		return err
	})
	return marks, err
}

// Open implements mining.Book.
func (b *Mining) Open(ctx context.Context, after int64, limit int) (open []mining.Candidate, err error) {
	err = b.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.OpenPulls(b.address(), after, limit)
		for _, row := range rows {
			open = append(open, mining.Candidate{Place: row.N, Ref: github.Ref{Repo: row.Repo, Number: row.Number}})
		}
		return err
	})
	return open, err
}

// Decide implements mining.Book.
func (b *Mining) Decide(ctx context.Context, all ...mining.Decision) error {
	err := b.Store.Do(ctx, func(tx *store.Tx) error {
		for _, d := range all {
			if err := b.decide(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fault.Reached(fault.PullDecided)
	var decided []output.PR
	for _, d := range all {
		if pr, ok := listable(d.Ref, d.Reason, d.Classification); ok {
			decided = append(decided, pr)
		}
	}
	b.list(decided...)
	for _, d := range all {
		if d.Mined == nil {
			continue
		}
		if err := b.TakeIn(*d.Mined); err != nil {
			return err
		}
	}
	return nil
}

// listable is the entry of a pull request that was decided for a reason in the list of those, if it has
// one: not where the list itself is the reason, nor where it may be taken up again, unless its class is
// known. Where the class was the reason it is listed with it, for specs that want such ones.
func listable(ref github.Ref, why, class string) (output.PR, bool) {
	switch {
	case why == mining.ReasonListed:
		return output.PR{}, false
	case mining.TakenUpAgain(why):
		return output.PR{Ref: ref, Class: class}, class != ""
	case why == mining.ReasonDifficulty:
		return output.PR{Ref: ref, Class: class}, true
	}
	return output.PR{Ref: ref}, true
}

// list adds decided pull requests to the file of the spec that lists them.
func (b *Mining) list(prs ...output.PR) {
	if b.Spec.PRFile == "" {
		return
	}
	if err := b.add(prs); err != nil {
		b.Log.Warn("list pull requests as decided", "spec", b.address(), "error", err)
	}
}

// add adds to the list what it does not have: what is taken up again may be decided as before.
func (b *Mining) add(prs []output.PR) error {
	if err := b.Spec.Inside(); err != nil {
		return err
	}
	b.listing.Lock()
	defer b.listing.Unlock()
	prs = slices.DeleteFunc(prs, func(pr output.PR) bool { return pr.Class != "" && b.classes[pr.Ref] == pr.Class })
	if err := output.AppendPRs(b.Spec.PRFile, prs...); err != nil {
		return err
	}
	b.note(prs)
	return nil
}

// note keeps in mind which pull requests are listed with a class. It is called with the lock held.
func (b *Mining) note(prs []output.PR) {
	for _, pr := range prs {
		if b.classes == nil {
			b.classes = map[github.Ref]string{}
		}
		if delete(b.classes, pr.Ref); pr.Class != "" {
			b.classes[pr.Ref] = pr.Class
		}
	}
}

func (b *Mining) decide(tx *store.Tx, d mining.Decision) error {
	row := store.PullRow{
		Spec: b.address(), Repo: d.Ref.Repo, Number: d.Ref.Number, Verdict: d.Verdict, Stage: d.Stage, Reason: d.Reason, Class: d.Classification,
	}
	if d.Mined != nil {
		row.Task = d.Mined.Task.Name
	}
	first, err := tx.DecidePull(row)
	if err != nil || !first {
		return err
	}
	record := pullRecord{
		Repo: d.Ref.Repo, Number: d.Ref.Number, Verdict: d.Verdict, Stage: d.Stage, Reason: d.Reason, Detail: d.Detail,
		Classification: d.Classification, DifficultyScore: d.DifficultyScore, QualityScore: d.QualityScore, Reasoning: d.Reasoning,
		Usage: d.Usage, CostUSD: d.Usage.CostUSD, DurationS: d.Duration.Seconds(), Task: row.Task,
	}
	if err := b.line(tx, "pr", record); err != nil {
		return err
	}
	if d.Mined != nil {
		if err := b.decideMined(tx, *d.Mined, d.Classification); err != nil {
			return err
		}
	}
	if mining.TakenUpAgain(d.Reason) {
		return nil // what was paid for it is not paid for again
	}
	return tx.DropAnswers(b.address(), d.Ref.String())
}

func (b *Mining) decideMined(tx *store.Tx, m mining.Mined, class string) error {
	data, err := json.Marshal(m.Task)
	if err != nil {
		return fmt.Errorf("encode task %s: %w", m.Task.Name, err)
	}
	if err := tx.PutMined(store.MinedRow{Spec: b.address(), Task: m.Task.Name, Data: data}); err != nil {
		return err
	}
	return b.line(tx, "task.mined", taskMined{
		Task: m.Task.Name, Dir: m.Dir, Language: m.Language, Difficulty: class,
		FailToPass: len(m.Task.FailToPass), PassToPass: len(m.Task.PassToPass),
	})
}

// Answer implements mining.Book.
func (b *Mining) Answer(ctx context.Context, pull, key string) (value []byte, ok bool, err error) {
	err = b.Store.View(ctx, func(tx *store.Tx) error {
		value, err = tx.Answer(b.address(), pull, key)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Keep implements mining.Book.
func (b *Mining) Keep(ctx context.Context, answers ...mining.Answer) error {
	err := b.Store.Do(ctx, func(tx *store.Tx) error {
		for _, a := range answers {
			if err := tx.PutAnswer(b.address(), a.Pull, a.Key, a.Value); err != nil {
				return err
			}
		}
		return nil
	})
	fault.Reached(fault.AnswerKept)
	return err
}

// Environment implements mining.Book.
func (b *Mining) Environment(ctx context.Context, repo, lock string) (*workbench.Environment, error) {
	var text string
	err := b.Store.View(ctx, func(tx *store.Tx) (err error) {
		text, err = tx.Environment(repo, lock)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e workbench.Environment
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return nil, fmt.Errorf("read the environment of %s: %w", repo, err)
	}
	return &e, nil
}

// KeepEnvironment implements mining.Book.
func (b *Mining) KeepEnvironment(ctx context.Context, repo, lock string, e workbench.Environment) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return b.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutEnvironment(repo, lock, string(text)) })
}

// Counts implements mining.Book.
func (b *Mining) Counts(ctx context.Context) (c mining.Counts, err error) {
	err = b.Store.View(ctx, func(tx *store.Tx) error {
		c, err = miningCounts(tx, b.address())
		return err
	})
	return c, err
}

func miningCounts(tx *store.Tx, address string) (mining.Counts, error) {
	c := mining.Counts{Accepted: map[string]int{}, Ended: map[string]map[string]int{}}
	rows, err := tx.PullCounts(address)
	if err != nil {
		return c, err
	}
	for _, row := range rows {
		switch row.Verdict {
		case "":
			c.Open += row.N
		case mining.Accepted:
			c.Accepted[row.Class] += row.N
		default:
			if c.Ended[row.Stage] == nil {
				c.Ended[row.Stage] = map[string]int{}
			}
			c.Ended[row.Stage][row.Verdict] += row.N
		}
	}
	c.PerRepo, err = tx.AcceptedByRepo(address)
	return c, err
}

// Report implements mining.Book. That a spec is over is stored with the record that says so:
// after a crash it is not said again.
func (b *Mining) Report(ctx context.Context, typ string, fields any) error {
	return b.Store.Do(ctx, func(tx *store.Tx) error {
		if end, ok := fields.(interface{ Over() string }); ok {
			if err := PutMiningState(tx, b.address(), MiningState{Generation: b.Spec.Generation, Over: true, Cause: end.Over()}); err != nil {
				return err
			}
		}
		return b.line(tx, typ, fields)
	})
}

// CatchUp notes the pull requests as decided that a crash kept from being noted.
func (b *Mining) CatchUp(ctx context.Context) error {
	if b.Spec.PRFile == "" {
		return nil
	}
	noted, err := b.noted()
	if err != nil {
		return err
	}
	for last := int64(0); ; {
		var rows []store.PullRow
		err := b.Store.View(ctx, func(tx *store.Tx) (err error) {
			rows, err = tx.PullsFrom(b.address(), last, catchUpAtOnce)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		var missing []output.PR
		for _, row := range rows {
			last = row.N
			pr, ok := listable(github.Ref{Repo: row.Repo, Number: row.Number}, row.Reason, row.Class)
			if class, listed := noted[pr.Ref]; ok && row.Verdict != "" && !(listed && (class == "" || class == pr.Class)) {
				missing = append(missing, pr)
			}
		}
		if err := b.add(missing); err != nil {
			return err
		}
	}
}

// catchUpAtOnce is how many of the pull requests that a spec has seen are looked at together.
const catchUpAtOnce = 1000

// noted are the pull requests that the file of the spec lists, with their classes, which the book keeps
// in mind from then on.
func (b *Mining) noted() (map[github.Ref]string, error) {
	noted := map[github.Ref]string{}
	f, err := os.Open(b.Spec.PRFile)
	if errors.Is(err, fs.ErrNotExist) {
		return noted, nil
	}
	var prs []output.PR
	if err == nil {
		prs, err = output.ReadPRs(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("look for the decision that is noted: %w", err)
	}
	for _, pr := range prs {
		noted[pr.Ref] = pr.Class
	}
	b.listing.Lock()
	defer b.listing.Unlock()
	b.note(prs)
	return noted, nil
}
