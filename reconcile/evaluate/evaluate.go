package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/trial"
)

// Evaluation asks that one archive is judged outside any trial.
type Evaluation struct {
	Task    string    // address, benchmark.x["t"]; "" = the task of Trial
	Files   []string  // absolute paths of the spec files that declare it; none = the one in force that does, as it is now
	Trial   string    // with Round: whose stored archive is judged again; "" = Archive is
	Round   string    // "agent-3"
	Archive io.Reader // tar or tar.gz
	Patch   []byte    // instead of Archive: a unified diff to the tree that agents of the task begin with
	Mixed   bool      // it is one of many judgings that nobody waits for, with the hidden files of Mix
	Mix     string    // digest of hidden files that are laid in place of the real ones, from judge.KeepMix; "" = none
	Private bool      // have it judged by the private set, too, which the task must have
	Decides bool      // have it judged as a trial's best round: by the private set, too, where the task has one and the round counts
}

// Evaluated is the outcome. No record reports it and no trial counts it.
type Evaluated struct {
	Session    string         `json:"session"` // eval.<8 hex>
	Submission string         `json:"submission_id"`
	Round      string         `json:"round"`
	Task       string         `json:"task"` // address
	Report     round.Report   `json:"report"`
	Of         string         `json:"of,omitempty"`     // TRIAL/ROUND, whose archive it was
	Before     *round.Report  `json:"before,omitempty"` // what was said of it then, which stays
	Private    *round.Report  `json:"private,omitempty"`
	PrivateSet bool           `json:"private_set"`           // the task has one now, which decides what a trial is worth
	Dropped    int            `json:"dropped"`               // entries of the archive that were left out
	Empty      bool           `json:"empty,omitempty"`       // nothing of it was left
	Applied    string         `json:"applied,omitempty"`     // how the patch was laid over the tree
	NotApplied string         `json:"not_applied,omitempty"` // why it could not be: there is no report then
	Select     string         `json:"select"`                // how rounds of the task are compared
	Direction  string         `json:"direction"`             // what is better of scores
	FailToPass swebench.Tests `json:"fail_to_pass"`
	PassToPass swebench.Tests `json:"pass_to_pass"`
	Provenance Provenance     `json:"provenance"`
}

// Deciding is the report that says what a trial with this round would be worth.
func (e Evaluated) Deciding() round.Report {
	if e.Private != nil {
		return *e.Private
	}
	return e.Report
}

// Provenance says what a verdict was made of.
type Provenance struct {
	Archive history.Archive           `json:"archive"` // as it was cleaned
	Images  map[string]trial.ImageRef `json:"images"`  // by role
	Judge   string                    `json:"judge_sha256"`
}

// evalTry is the only try of a session without a trial. It is not zero, so that a restart
// gives up what it left.
const evalTry = 1

// Evaluate judges an archive with a task's judge as it is now, as the only round of a
// session of its own, and waits for the verdict. What is wrong with Files comes as
// diagnostics, and what else the asker must mend as a *request.Mistake or a *round.Refusal. When
// the context ends, the round is given up.
func (r *Evaluator) Evaluate(ctx context.Context, e Evaluation) (out Evaluated, ds config.Diagnostics, err error) {
	set, ds, err := r.AskedSet(ctx, e)
	if err != nil || ds.HasErrors() {
		return out, ds, err
	}
	t, err := r.askedTask(ctx, set, e, &out)
	if err != nil {
		return out, ds, err
	}
	out.PrivateSet = t.Private != nil
	if e.Private && !out.PrivateSet {
		return out, ds, request.Mistakef("%s has no private set", out.Task)
	}
	if e.Trial != "" {
		stored, err := r.storedArchive(ctx, e, &out)
		if err != nil {
			return out, ds, err
		}
		defer func() { err = errors.Join(err, stored.Close()) }()
		e.Archive = stored
	}
	session, err := r.evalSession(ctx, t, &out)
	if err != nil {
		return out, ds, err
	}
	if e.Patch != nil {
		return out, ds, r.evaluatePatch(ctx, t, session, e, &out)
	}
	return out, ds, r.judgeIn(ctx, session, e, &out)
}

// AskedSet are the specs that a question is about: what its files say by themselves, or
// those in force, with the file of the asked task as it is now.
func (r *Evaluator) AskedSet(ctx context.Context, e Evaluation) (*config.Set, config.Diagnostics, error) {
	if r.o.Host.Judge == nil {
		return nil, nil, request.ErrIdle
	}
	set, ds, err := r.o.Reader.SpecsFor(ctx, e.Files)
	if err != nil || ds.HasErrors() || len(e.Files) > 0 {
		return set, ds, err
	}
	return r.AsItIsNow(ctx, set, e)
}

// judgeIn has the archive judged in a session of its own.
func (r *Evaluator) judgeIn(ctx context.Context, session round.Session, e Evaluation, out *Evaluated) error {
	r.o.Host.Judge.Open(session)
	fault.Reached(fault.EvalOpened)
	defer r.o.Host.Judge.Forget(session.Trial)
	err := r.judgeOnce(ctx, session, e, out)
	if err == nil {
		out.Select, out.Direction = session.Task.Judge.Select, session.Task.Judge.Direction
		out.FailToPass = TestsOf(trial.Outcomes(session.Task.FailToPass, &out.Report))
		out.PassToPass = TestsOf(trial.Outcomes(session.Task.PassToPass, &out.Report))
	}
	return err
}

// askedTask finds the task whose judge is asked.
func (r *Evaluator) askedTask(ctx context.Context, set *config.Set, e Evaluation, out *Evaluated) (t task.Task, err error) {
	address := e.Task
	if address == "" {
		state, err := history.ReadTrial(ctx, r.o.Store, e.Trial)
		if err != nil {
			return t, err
		}
		address = tasklookup.AddressIn(set, state.Cell.Task.Benchmark, state.Cell.Task.Name)
		if t, ok := tasklookup.OfRun(set, state); ok {
			out.Task = address
			return t, judgeable(t, address)
		}
	}
	selected, err := tasklookup.Find(set, address)
	if err != nil {
		return t, err
	}
	out.Task = selected.Address()
	if gaps := selected.Unsupported(); len(gaps) > 0 {
		return t, request.Mistakef("%s: %s is not in this version yet", out.Task, gaps[0])
	}
	if t, err = plan.CompileTask(selected); err != nil {
		return t, err
	}
	return t, judgeable(t, out.Task)
}

func judgeable(t task.Task, address string) error {
	if t.Judge.Game != "" {
		return request.Mistakef("%s is a game: it is played, and has no archive to judge", address)
	}
	return nil
}

// storedArchive opens the archive of a round that was accepted earlier. A trial counts its
// rounds through all tries, so that a name means one of them.
func (r *Evaluator) storedArchive(ctx context.Context, e Evaluation, out *Evaluated) (io.ReadCloser, error) {
	if _, err := history.ReadTrial(ctx, r.o.Store, e.Trial); err != nil {
		return nil, err
	}
	all, err := r.o.Ledger.Submissions(ctx, e.Trial)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, sub := range all {
		known = append(known, sub.Round)
		if sub.Round != e.Round {
			continue
		}
		if sub.Archive == "" {
			return nil, request.Mistakef("%s of %s has no archive", e.Round, e.Trial)
		}
		whole, err := r.o.Ledger.Submission(ctx, sub.ID)
		if err != nil {
			return nil, err
		}
		out.Of, out.Before = e.Trial+"/"+e.Round, whole.Report
		stored, err := r.o.Host.OpenBlob(sub.Archive)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, request.Mistakef("the archive of %s is not kept any more", out.Of)
		}
		return stored, err
	}
	return nil, request.Mistakef("%s has no round %q; its rounds are %q", e.Trial, e.Round, known)
}

// evalSession makes the images and the right to submit.
func (r *Evaluator) evalSession(ctx context.Context, t task.Task, out *Evaluated) (round.Session, error) {
	out.Session = evalName()
	h := r.o.Host
	state := trial.State{ID: out.Session, Try: evalTry, Cell: trial.Cell{Task: t}}
	_, err := h.JudgeImages(ctx, &state, t, map[string]string{
		container.LabelOwner: h.Owner, container.LabelTrial: out.Session, container.LabelRole: container.RoleBuild,
	})
	if err != nil {
		return round.Session{}, fmt.Errorf("make the judge images of %s: %w", out.Task, err)
	}
	out.Provenance.Images = map[string]trial.ImageRef{"judge": state.JudgeImage}
	if state.RunImage != "" {
		out.Provenance.Images["run"] = trial.ImageRef{Ref: t.Judge.Run.Image, ID: state.RunImage}
	}
	if state.GradeImage != "" {
		out.Provenance.Images["grade"] = trial.ImageRef{Ref: t.Judge.Grade.Image, ID: state.GradeImage}
	}
	if state.Hidden, err = h.Images.Hidden(t); err != nil {
		return round.Session{}, err
	}
	if state.Reference, err = r.evalReference(ctx, state, t); err != nil {
		return round.Session{}, err
	}
	if out.Provenance.Judge, err = judgeHash(t); err != nil {
		return round.Session{}, err
	}
	return trial.Session(h.Owner, state), nil
}

// judgeHash identifies how a task is judged, its hidden files included.
func judgeHash(t task.Task) (string, error) {
	text, err := json.Marshal([]any{t.Judge, t.Private, t.Workdir, t.Submit})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// endMark is the size of a tar without any entry.
const endMark = 1024

// giveUpTime bounds how long it takes to give up a round that nobody waits for any more.
const giveUpTime = 10 * time.Second

// judgeOnce has the archive judged, and gives up what has no verdict when the context ends.
func (r *Evaluator) judgeOnce(ctx context.Context, session round.Session, e Evaluation, out *Evaluated) (err error) {
	j := r.o.Host.Judge
	defer func() {
		if err != nil {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
			defer cancel()
			err = errors.Join(err, j.Abandon(after, session.Trial, evalTry, "it is not needed any more"))
		}
	}()
	kind := round.KindManual
	if e.Mixed {
		kind = round.KindMixed
	}
	sub, err := j.Submit(ctx, session.Trial, round.SubmitRequest{Kind: kind, Archive: e.Archive, Mix: e.Mix})
	if err != nil {
		return err
	}
	fault.Reached(fault.EvalAccepted)
	out.Submission, out.Round = sub.ID, sub.Round
	out.Provenance.Archive = history.Archive{SHA256: sub.Archive, Bytes: sub.Bytes}
	out.Dropped, out.Empty = sub.Dropped, sub.Bytes <= endMark
	if sub, err = j.Wait(ctx, sub.ID); err != nil {
		return err
	}
	out.Report = *sub.Report
	_, counts := scoring.Best(session.Task.Judge, []round.Submission{sub})
	if !e.Private && !(e.Decides && out.PrivateSet && counts) {
		return nil
	}
	private, err := j.Private(ctx, session.Trial, sub)
	if err == nil {
		private, err = j.Wait(ctx, private.ID)
	}
	out.Private = private.Report
	return err
}

// TestsOf sorts tests into those that passed and the others.
func TestsOf(records []trial.TestRecord) (t swebench.Tests) {
	for _, r := range records {
		if r.Passed {
			t.Success = append(t.Success, r.Name)
		} else {
			t.Failure = append(t.Failure, r.Name)
		}
	}
	return t
}
