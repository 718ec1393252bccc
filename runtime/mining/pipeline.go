package mining

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/proof"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/statement"
	"github.com/assayd/assayd/runtime/mining/triage"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// pipeline makes a task of one pull request. What it finds on the way is in its fields. What the
// outside answers and a proof are kept: made again from the beginning it finds the same.
type pipeline struct {
	m        *Miner
	pull     *triaged
	held     *place
	decision Decision

	called    string // the name of the task
	change    extract.Change
	text      string // the statement
	names     bool   // the statement names an interface
	task      task.Task
	generated bool // a model writes tests, all of them or others beside upstream's
	proof     proof.Proof
	few       *few                  // upstream's tests are too few; nil = they are not, or there are none
	tried     workbench.Environment // of the last proposal
	spent     workbench.Spent
	tokens    int64 // of the turns of the workbench
	quality   triage.Rating
	class     triage.Classification
}

// make takes the pull request through the stages that cost. It returns a *reason.Rejected
// where the pull request becomes no task.
func (k *pipeline) make(ctx context.Context) error {
	*k = pipeline{m: k.m, pull: k.pull, held: k.held, decision: k.pull.decision("")} // nothing is left of an attempt before
	for _, s := range []struct {
		stage string
		do    func(context.Context) error
	}{
		{StageExtract, k.extract},
		{StageStatement, k.describe},
		{StageFeasibility, k.feasible},
		{StageEnvironment, k.prove},
		{StageClassify, k.classify},
		{StageQuality, k.rate},
		{StageExport, k.export},
	} {
		k.enter(s.stage)
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (k *pipeline) enter(stage string) {
	k.decision.Stage = stage
	k.m.enter(k.pull.Ref, stage)
}

func (k *pipeline) extract(ctx context.Context) (err error) {
	if err := k.claim(ctx); err != nil {
		return err
	}
	defer k.m.spent.since(onGit, time.Now())
	k.change, err = k.m.o.Repos.Change(ctx, k.repository())
	return err
}

func (k *pipeline) describe(ctx context.Context) (err error) {
	k.text, err = statement.Write(ctx, k.pull.budget.ask(StageStatement), k.material(k.change.Tests))
	return err
}

// feasible adds to the statement what the upstream tests need and nobody could know.
func (k *pipeline) feasible(ctx context.Context) error {
	if len(k.change.Tests) == 0 {
		return nil
	}
	return k.name(ctx, StageFeasibility, k.change.Tests)
}

// name has the statement name what these tests need, if it does not.
func (k *pipeline) name(ctx context.Context, stage string, tests []byte) error {
	needs, err := statement.Needs(k.change.Source, tests, func(words []string) (map[string]bool, error) {
		defer k.m.spent.since(onGit, time.Now())
		return k.m.o.Repos.Has(ctx, k.repository().Repo, k.change.Base, words)
	}, k.text)
	if err != nil || len(needs) == 0 {
		return err
	}
	return k.section(ctx, stage, tests, needs)
}

// section adds to the statement what names these things, which these tests need. Who needs others asks another
// question: the tests of one proposal are not those of the next.
func (k *pipeline) section(ctx context.Context, stage string, tests []byte, needs []string) error {
	question := fmt.Sprintf("%s/interface/%x", stage, sha256.Sum256([]byte(strings.Join(needs, "\x00"))))
	section, err := statement.Interface(ctx, k.pull.budget.ask(question), k.material(tests), needs)
	if err != nil {
		return err
	}
	k.text, k.names = statement.Join(k.text, section), true
	return nil
}

// prove finds out how the repository is installed and tested, and proves the task by it, unless
// that was done before.
func (k *pipeline) prove(ctx context.Context) error {
	sum, err := k.toProve()
	if err != nil {
		return err
	}
	if known, err := k.recall(ctx, sum); err != nil || known {
		return err
	}
	if err := k.install(ctx, sum); err != nil {
		return err
	}
	return k.keepProof(ctx, sum)
}

// install has a model find out how the repository is installed and tested, so that the task is
// proved, and write tests where upstream has none or too few.
func (k *pipeline) install(ctx context.Context, sum string) error {
	repo := k.repository().Repo
	began := time.Now()
	lock, err := k.m.o.Repos.Lock(ctx, repo, k.change.Base)
	k.m.spent.since(onGit, began)
	if err != nil {
		return err
	}
	proposal, err := k.first(ctx, lock, sum)
	if err == nil && k.few != nil {
		proposal, err = k.more(ctx)
	}
	if err != nil {
		return err
	}
	return k.m.o.Book.KeepEnvironment(ctx, repo, lock, proposal.Environment)
}

// first has upstream's tests proved, or others where there are none. That they are too few is
// no error, and is not found out again.
func (k *pipeline) first(ctx context.Context, lock, sum string) (workbench.Proposal, error) {
	if known, err := k.recallFew(ctx, sum); err != nil || known {
		return workbench.Proposal{}, err
	}
	hint, err := k.m.o.Book.Environment(ctx, k.repository().Repo, lock)
	if err != nil {
		return workbench.Proposal{}, err
	}
	k.generated = !slices.ContainsFunc(k.change.TestFiles, func(name string) bool {
		return screen.KindOf(name) == screen.Test && !slices.Contains(k.change.Removed, name)
	})
	p, err := k.work(ctx, StageEnvironment, hint)
	if r := reason.Of(err); r == nil || r.Code != proof.Uncovered || k.generated || k.proof.Hunks == 0 { // no test covers what does nothing
		return p, err
	}
	k.few = &few{Environment: k.tried, Proof: k.proof, Detail: reason.Of(err).Detail, Spent: k.spent, Tokens: k.tokens}
	return p, k.keepFew(ctx, sum)
}

// more has a model write tests beside upstream's, where those are too few. What it took to find
// that out counts against the bounds.
func (k *pipeline) more(ctx context.Context) (workbench.Proposal, error) {
	k.generated = true
	p, err := k.work(ctx, StageEnvironment+"/more", &k.few.Environment)
	if r := reason.Of(err); r != nil {
		k.enter(StageValidation)
		err = reason.Reject(proof.Uncovered, "%s; and no tests beside them were written that do: %s", k.few.Detail, r.Error())
	}
	return p, err
}

// work has a model work at the workbench. Its answers are kept under the key.
func (k *pipeline) work(ctx context.Context, key string, hint *workbench.Environment) (p workbench.Proposal, err error) {
	g := k.m.o.Spec.TestGeneration
	job := workbench.Job{
		Repo: k.repository().Repo, Language: k.pull.Repository.Language, Title: k.pull.Title, Statement: k.text,
		Source: k.change.Source, Tests: k.change.Tests, TestFiles: k.change.TestFiles, Write: k.generated,
		MaxTurns: g.MaxTurns, CommandTimeout: g.CommandTimeout, Timeout: g.Timeout, Spent: &k.spent, Image: k.image(), Workdir: workdir, Hint: hint,
	}
	if k.few != nil {
		job.Uncovered = k.few.Proof.Uncovered
	}
	bare := k.compose(workbench.Proposal{}, nil)
	bare.Judge.Command, bare.Work.Setup = task.Command{}, nil
	err = k.m.o.Room(ctx, bare, func(ctx context.Context, room workbench.Room) (err error) {
		p, err = workbench.Run(ctx, job, timedRoom{room, &k.m.spent}, k.turns(key), k.try)
		return err
	})
	return p, err
}

// turns asks the model for the turns of the workbench.
func (k *pipeline) turns(key string) workbench.Ask {
	ask, most := k.pull.budget.ask(key), k.m.o.Spec.TestGeneration.MaxTokens
	return func(ctx context.Context, _ int, messages []llm.Message, tools []llm.Tool) (llm.Answer, error) {
		k.enter(StageEnvironment) // again, after a proposal that was refused
		if most > 0 && k.tokens >= most {
			return llm.Answer{}, reason.Reject(reasonTokens, "%d of %d tokens", k.tokens, most)
		}
		answer, err := ask(ctx, messages, tools)
		k.tokens += answer.Usage.Input + answer.Usage.Output
		if _, ok := errors.AsType[*llm.Malformed](err); ok {
			return answer, nil // the model is told by the workbench
		}
		return answer, err
	}
}

// try builds and proves what the model proposes. What the model can mend comes back in words.
func (k *pipeline) try(ctx context.Context, p workbench.Proposal) (wrong string, err error) {
	tests, wrong, err := k.tests(ctx, p)
	if err != nil || wrong != "" {
		return wrong, err
	}
	k.enter(StageValidation)
	k.tried = p.Environment
	text, names := k.text, k.names
	if k.generated {
		if err := k.name(ctx, StageValidation, tests); err != nil {
			return k.mendable(err)
		}
	}
	t, err := k.judge(ctx, p, tests)
	if r := reason.Of(err); r != nil && r.Code == proof.CollectionError && len(k.proof.Missing) > 0 {
		if err = k.section(ctx, StageValidation, tests, k.proof.Missing); err == nil {
			t, err = k.judge(ctx, p, tests)
		}
	}
	if err == nil {
		err = k.silent(tests)
	}
	if err == nil {
		err = k.keepsUpstream()
	}
	if err != nil {
		k.text, k.names = text, names // what is proposed next may need other names
		return k.mendable(err)
	}
	t.FailToPass, t.PassToPass = k.proof.FailToPass, k.proof.PassToPass
	k.task = t
	return "", nil
}

// judge proves the task of a proposal by execution.
func (k *pipeline) judge(ctx context.Context, p workbench.Proposal, tests []byte) (t task.Task, err error) {
	t = k.compose(p, tests)
	k.proof, err = proof.Prove(ctx, proof.Case{
		Task: t, Fix: k.change.Source, Repeats: k.m.o.Spec.Repeats, Statement: k.text, Interface: k.names, Printed: k.m.o.Printed,
	}, k.m.timedJudge)
	return t, err
}

// silent rejects a statement that tells of the hidden tests: by now all of their names are
// known.
func (k *pipeline) silent(tests []byte) error {
	m := k.material(tests)
	m.TestNames = k.proof.FailToPass
	if offences := statement.Check(k.text, m); len(offences) > 0 {
		return reason.Reject(statement.Leaks, "%s", strings.Join(offences, "; "))
	}
	return nil
}

// keepsUpstream rejects a proposal under which upstream's tests do not come out any more as they did
// alone: it does not run them all, or changes what they run with.
func (k *pipeline) keepsUpstream() error {
	if k.few == nil {
		return nil
	}
	was, is := k.few.Proof, k.proof
	for _, lists := range [][2][]string{{was.FailToPass, slices.Concat(is.FailToPass, is.Flaky, is.Textual)}, {was.PassToPass, slices.Concat(is.PassToPass, is.Flaky)}} {
		for _, name := range lists[0] {
			if !slices.Contains(lists[1], name) {
				return reason.Reject(reasonLost, "%s was there without these tests, and does not come out as it did any more", name)
			}
		}
	}
	return nil
}

// environmental are the reasons of a proof that speak of the environment and not of the
// pull request: whoever proposed it may mend it.
var environmental = []string{proof.NoTestsRan, proof.NotFound, proof.Timeout, proof.Unusable, proof.FailsAfter}

// mendable turns what the model can mend into words for it.
func (k *pipeline) mendable(err error) (wrong string, _ error) {
	if setup, ok := errors.AsType[*image.SetupError](err); ok {
		return "the installation failed: " + setup.Error(), nil
	}
	r := reason.Of(err)
	if r == nil {
		return "", err
	}
	if k.generated || slices.Contains(environmental, r.Code) {
		return r.Error(), nil
	}
	return "", err
}

func (k *pipeline) classify(ctx context.Context) (err error) {
	k.class, err = triage.Classify(ctx, k.pull.budget.ask(StageClassify), k.judged())
	if err != nil {
		return err
	}
	d := &k.decision
	d.Classification, d.DifficultyScore, d.Reasoning = k.class.Class, k.class.Score, k.class.Reasoning
	if len(k.m.o.Spec.Difficulty) > 0 && !slices.Contains(k.m.o.Spec.Difficulty, k.class.Class) {
		return reason.Reject(ReasonDifficulty, "it is %s", k.class.Class)
	}
	if k.m.o.Spec.Quota != nil && !k.m.places.wants(k.class.Class) {
		return enoughOf(k.class.Class) // before more is paid for it
	}
	return nil
}

func (k *pipeline) rate(ctx context.Context) (err error) {
	k.quality, err = triage.Quality(ctx, k.pull.budget.ask(StageQuality), k.judged(), k.task.Instruction)
	if err != nil {
		return err
	}
	k.decision.QualityScore = k.quality.Score
	if least := k.m.o.Spec.MinQuality; k.quality.Score < least {
		return reason.Reject(reasonQuality, "%.2f, and the spec wants %.2f: %s", k.quality.Score, least, k.quality.Reasoning)
	}
	return nil
}

// judged is what a model sees of the task to judge it.
func (k *pipeline) judged() triage.Change {
	return triage.Change{
		Title: k.pull.Title, Body: k.pull.Body, Diff: k.change.Source, Tests: k.task.Judge.Patch,
		Spec: triage.Spec{Command: k.task.Judge.Command.Shell, FailToPass: k.task.FailToPass, PassToPass: k.task.PassToPass},
	}
}
