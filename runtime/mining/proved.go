package mining

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/assayd/assayd/runtime/mining/proof"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// maxProved bounds a proof that is kept, in bytes: what has more is proved again.
const maxProved = 32 << 20

// proved is a proof as the book keeps it. It is never repeated: tests that were sound once may
// come out otherwise the next time.
type proved struct {
	Task      task.Task
	Generated bool // a model has written tests, all or some
	Proof     proof.Proof
}

// few is what was found out about upstream's tests that are too few: they fail before and pass
// after, and no part of the fix that does something is needed for that. It is kept before
// others are written: a miner that was killed goes on there, whatever they would come out as the
// next time.
type few struct {
	Environment workbench.Environment // in which that was proved
	Proof       proof.Proof
	Detail      string // of the rejection
	Spent       workbench.Spent
	Tokens      int64
}

// toProve is the sum of what is to be proved, under which that is kept: another statement, image or
// patch needs another proof.
func (k *pipeline) toProve() (string, error) {
	of, err := json.Marshal(struct {
		Task    task.Task
		Repeats int
	}{k.compose(workbench.Proposal{}, k.change.Tests), k.m.o.Spec.Repeats})
	if err != nil {
		return "", fmt.Errorf("encode the proof of %s: %w", k.pull.Ref.String(), err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(of)), nil
}

// recall takes the task from a proof that is kept, if there is one.
func (k *pipeline) recall(ctx context.Context, sum string) (known bool, err error) {
	var p proved
	if known, err = k.look(ctx, "proved/"+sum, &p); err != nil || !known {
		return false, err
	}
	k.task, k.generated, k.proof = p.Task, p.Generated, p.Proof
	return true, nil
}

// keepProof keeps the proof of the task.
func (k *pipeline) keepProof(ctx context.Context, sum string) error {
	return k.keep(ctx, "proved/"+sum, proved{k.task, k.generated, k.proof})
}

// recallFew takes from the book that upstream's tests are too few, if it is known.
func (k *pipeline) recallFew(ctx context.Context, sum string) (known bool, err error) {
	var f few
	if known, err = k.look(ctx, "few/"+sum, &f); err != nil || !known {
		return false, err
	}
	k.few, k.spent, k.tokens = &f, f.Spent, f.Tokens
	return true, nil
}

// keepFew keeps that upstream's tests are too few. Who goes on there has not waited for the model:
// what it has answered is not asked again.
func (k *pipeline) keepFew(ctx context.Context, sum string) error {
	f := *k.few
	f.Spent.Asked = 0
	return k.keep(ctx, "few/"+sum, f)
}

// look reads what is kept of a proof, if it is.
func (k *pipeline) look(ctx context.Context, key string, into any) (known bool, err error) {
	value, known, err := k.m.o.Book.Answer(ctx, k.pull.Ref.String(), key)
	if err != nil || !known {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("read the proof of %s: %w", k.pull.Ref.String(), err)
	}
	return true, nil
}

// keep keeps something of a proof.
func (k *pipeline) keep(ctx context.Context, key string, what any) error {
	value, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode the proof of %s: %w", k.pull.Ref.String(), err)
	}
	if len(value) > maxProved {
		k.m.o.Log.Info("a proof is too large to be kept", "pull", k.pull.Ref.String(), "bytes", len(value))
		return nil
	}
	return k.m.o.Book.Keep(context.WithoutCancel(ctx), Answer{k.pull.Ref.String(), key, value})
}
