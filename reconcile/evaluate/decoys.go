package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/decoy/prove"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// decoyRules is of how decoys are made: a change of it makes all of them anew.
const decoyRules = 2

// decoyTime is how long the decoys of one content may take to make, beyond what is under way.
const decoyTime = 45 * time.Minute

// maxDecoySet bounds the stored set: hidden files of up to 8 MiB are in it, as base64.
const maxDecoySet = 32 << 20

// pinnedDecoys is what is stored of the decoys of a content: the set itself is a blob.
type pinnedDecoys struct {
	SHA256 string `json:"sha256"`
}

// Decoys is trial.Host.Decoys. They are made once for one content, by whoever needs them
// first, and an execution keeps those that its first trial had. Trouble of the machinery is
// no answer.
func (r *Evaluator) Decoys(ctx context.Context, of trial.Subject) (known mixedruns.Decoys, err error) {
	if of.Task.Solution, err = r.solutionOf(ctx, of); err != nil {
		return known, err
	}
	content, err := decoyKey(of)
	if err != nil {
		return known, err
	}
	release, err := r.turns.Lock(ctx, content)
	if err != nil {
		return known, err
	}
	defer release()
	keys := []string{content}
	if s := of.State; s.Execution > 0 {
		keys = []string{pinnedDecoysKey(s), content}
	}
	for _, key := range keys {
		var pinned pinnedDecoys
		found, err := r.recall(ctx, key, &pinned)
		if err != nil {
			return known, err
		}
		if !found {
			continue
		}
		if known, err = r.readDecoys(pinned.SHA256); err != nil {
			return known, err
		}
		if key != keys[0] {
			err = r.remember(ctx, keys[0], pinned)
		}
		return known, err
	}
	set, err := r.makeDecoys(ctx, of)
	if err != nil {
		return known, fmt.Errorf("make decoys of %s: %w", of.Task.Name, err)
	}
	if known, err = r.keepDecoys(set); err != nil {
		return known, err
	}
	for _, key := range keys {
		if err := r.remember(ctx, key, pinnedDecoys{known.Digest}); err != nil {
			return known, err
		}
	}
	return known, nil
}

// pinnedDecoysKey is where an execution keeps those of the first trial of a content.
func pinnedDecoysKey(s trial.State) string {
	return fmt.Sprintf("decoys/%s/e%d/%s", s.Spec, s.Execution, trial.ReferenceKey(s))
}

// decoyKey identifies all that decides what decoys a task has: how it is judged, its
// solution, and what its agents see.
func decoyKey(of trial.Subject) (string, error) {
	text, err := json.Marshal([]any{decoyRules, of.Task.Solution, of.Work.ID, of.Task.Instruction, of.Task.Submit})
	if err != nil {
		return "", fmt.Errorf("encode what decoys of %s depend on: %w", of.Task.Name, err)
	}
	sum := sha256.Sum256(append([]byte(trial.ReferenceKey(of.State)), text...))
	return "decoys/" + hex.EncodeToString(sum[:]), nil
}

func (r *Evaluator) keepDecoys(set mixed.Set) (out mixedruns.Decoys, err error) {
	blob, err := r.o.Store.Blobs().Create()
	if err != nil {
		return out, fmt.Errorf("store decoys: %w", err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	if _, err := blob.Write(set.Encode()); err != nil {
		return out, fmt.Errorf("store decoys: %w", err)
	}
	digest, _, err := blob.Commit()
	if err != nil {
		return out, fmt.Errorf("store decoys: %w", err)
	}
	return mixedruns.Decoys{Digest: digest, Set: set}, nil
}

func (r *Evaluator) readDecoys(digest string) (mixedruns.Decoys, error) {
	blob, err := r.o.Host.OpenBlob(digest)
	if err != nil {
		return mixedruns.Decoys{}, fmt.Errorf("read decoys: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(blob, maxDecoySet))
	if err = errors.Join(err, blob.Close()); err != nil {
		return mixedruns.Decoys{}, fmt.Errorf("read decoys: %w", err)
	}
	set, err := mixed.Decode(data)
	return mixedruns.Decoys{Digest: digest, Set: set}, err
}

// makeDecoys proves decoys by judging the solution and the untouched tree.
func (r *Evaluator) makeDecoys(ctx context.Context, of trial.Subject) (mixed.Set, error) {
	t := of.Task
	if none := Undecoyed(of); none != "" {
		return mixed.Set{None: none}, nil
	}
	r.o.Log.Info("changed copies of hidden tests are tried, for mixed runs", "spec", of.State.Spec, "task", t.Name)
	hidden, err := r.hiddenCode(ctx, of)
	if err != nil {
		return mixed.Set{}, err
	}
	labels := map[string]string{container.LabelOwner: r.o.Host.Owner, container.LabelRole: container.RoleBuild}
	seen, complete, err := r.o.Host.Trees().SeenOf(ctx, t, of.Work.ID, hidden, labels)
	if err != nil {
		return mixed.Set{}, err
	}
	if !complete {
		return mixed.Set{None: "the work tree is too big to find out which tests agents see"}, nil
	}
	ask, done, problem, err := r.askSolution(ctx, of)
	if err != nil || problem != "" {
		return mixed.Set{None: problem}, err
	}
	lab := prove.Lab{Reference: r.observer(of, ask), Untouched: r.observer(of, Untouched)}
	set, err := prove.Decoys(ctx, prove.Subject{
		Parser: t.Judge.Parser, Hidden: hidden, FailToPass: t.FailToPass, PassToPass: t.PassToPass, Time: decoyTime,
		Sees: func(v decoy.Variant) bool { return seen.Tells(v) },
	}, lab)
	if nothing, ok := errors.AsType[*unjudgedError](err); ok {
		set, err = mixed.Set{None: nothing.why}, nil
	}
	return set, errors.Join(err, done())
}

// Undecoyed says why a task can have no decoys whatever its tests are; "" = it may have some.
func Undecoyed(of trial.Subject) string {
	t := of.Task
	switch {
	case t.Judge.Game != "":
		return "it is a game"
	case t.Judge.Staged():
		return "judges in stages need none: nothing submitted runs beside the tests"
	case scoring.ByCommands(t):
		return "its tests are commands"
	case t.Judge.Window != nil:
		return "the judge command itself lays the tests"
	case t.Solution == nil:
		return "the task has no solution to try them with"
	}
	return prove.Unfit(t.Judge.Parser, t.FailToPass)
}

// hiddenCode reads the hidden files of a task's judge image.
func (r *Evaluator) hiddenCode(ctx context.Context, of trial.Subject) (map[string][]byte, error) {
	session := r.sessionOf(of)
	r.o.Host.Judge.Open(session)
	defer r.o.Host.Judge.Forget(session.Trial)
	return r.o.Host.Judge.HiddenCode(ctx, session.Trial)
}

// unjudgedError says why there was nothing to judge.
type unjudgedError struct{ why string }

func (u *unjudgedError) Error() string { return u.why }

// Control is trial.Host.Control.
func (r *Evaluator) Control(ctx context.Context, of trial.Subject, changed map[string][]byte) (o mixed.Observed, err error) {
	if of.Task.Solution, err = r.solutionOf(ctx, of); err != nil {
		return o, err
	}
	ask, done, problem, err := r.askSolution(ctx, of)
	if err != nil {
		return o, err
	}
	if problem != "" { // of the solution nothing is seen
		return o, nil
	}
	defer func() { err = errors.Join(err, done()) }()
	o, err = r.observer(of, ask)(ctx, changed)
	if _, ok := errors.AsType[*unjudgedError](err); ok {
		return mixed.Observed{}, nil
	}
	return o, err
}

// observer judges what ask gives, each time in a session of its own, and says what was seen.
func (r *Evaluator) observer(of trial.Subject, ask Ask) func(context.Context, map[string][]byte) (mixed.Observed, error) {
	return func(ctx context.Context, changed map[string][]byte) (o mixed.Observed, err error) {
		mix := ""
		if changed != nil {
			if mix, err = r.o.Host.Judge.KeepMix(changed); err != nil {
				return o, err
			}
		}
		report, problem, err := r.judgeFor(ctx, of, func() (Evaluation, func() error, error) {
			e, done, err := ask()
			e.Mixed, e.Mix = true, mix
			return e, done, err
		})
		switch {
		case err != nil:
			return o, err
		case report == nil:
			return o, &unjudgedError{problem}
		}
		return mixedruns.Observe(of.Task, *report), nil
	}
}
