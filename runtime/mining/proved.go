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
	Generated bool // a model has written tests
	Proof     proof.Proof
}

// provedKey is under which a proof is kept: another statement, image or patch needs another one.
func (k *maker) provedKey() (string, error) {
	of, err := json.Marshal(struct {
		Task    task.Task
		Repeats int
	}{k.compose(workbench.Proposal{}, k.change.Tests), k.m.o.Spec.Repeats})
	if err != nil {
		return "", fmt.Errorf("encode what is to be proved of %s: %w", k.pull.Ref.String(), err)
	}
	return fmt.Sprintf("proved/%x", sha256.Sum256(of)), nil
}

// recall takes the task from a proof that is kept, if there is one.
func (k *maker) recall(ctx context.Context, key string) (known bool, err error) {
	value, known, err := k.m.o.Book.Answer(ctx, k.pull.Ref.String(), key)
	if err != nil || !known {
		return false, err
	}
	var p proved
	if err := json.Unmarshal(value, &p); err != nil {
		return false, fmt.Errorf("read the proof of %s: %w", k.pull.Ref.String(), err)
	}
	k.task, k.generated, k.proof = p.Task, p.Generated, p.Proof
	return true, nil
}

// keepProof keeps the proof of the task.
func (k *maker) keepProof(ctx context.Context, key string) error {
	value, err := json.Marshal(proved{k.task, k.generated, k.proof})
	if err != nil {
		return fmt.Errorf("encode the proof of %s: %w", k.pull.Ref.String(), err)
	}
	if len(value) > maxProved {
		k.m.o.Log.Info("a proof is too large to be kept", "pull", k.pull.Ref.String(), "bytes", len(value))
		return nil
	}
	return k.m.o.Book.Keep(context.WithoutCancel(ctx), Answer{k.pull.Ref.String(), key, value})
}
