package mining

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// A pull request is kept under the name that the source gave it. Its repository may have
// another one by now, and two sources may know it by two names.

// present is a pull request under the present name of its repository.
func present(p github.Pull) github.Ref {
	return github.Ref{Repo: cmp.Or(p.Repository.Name, p.Repo), Number: p.Number}
}

// renamedKey begins the marks of repositories that have another name now.
const renamedKey = "renamed/"

// renamed notes what the repository of an answer is called now, if not as it was asked for.
func (m *Miner) renamed(ctx context.Context, out github.Outcome) error {
	now := present(out.Pull).Repo
	if now == out.Asked.Repo {
		return nil
	}
	return m.o.Book.Find(ctx, nil, Mark{renamedKey + out.Asked.Repo, now})
}

// names leads from former names of repositories to the present ones.
func (m *Miner) names(ctx context.Context) (map[string]string, error) {
	marks, err := m.o.Book.Marks(ctx, renamedKey)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, mark := range marks {
		names[strings.TrimPrefix(mark.Key, renamedKey)] = mark.Value
	}
	return names, nil
}

// claim says who has the name of a task, or makes one of a merge.
type claim struct {
	Asked github.Ref `json:"asked"` // as the source has it
	Now   github.Ref `json:"now"`
}

// claim finds a name for the task that nobody else has. Of one pull request under two names
// the first becomes the task: it is known by its merge, which no renaming changes.
func (k *pipeline) claim(ctx context.Context) error {
	k.m.naming.Lock()
	defer k.m.naming.Unlock()
	mine := claim{Asked: k.pull.Ref, Now: k.repository().Ref}
	k.called = taskName(mine.Now)
	value, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	var free []Answer
	merge, name := fmt.Sprintf("merge/%s#%d", k.pull.MergeSHA, k.pull.Number), "task/"+k.called
	for _, key := range []string{merge, name} {
		have, err := k.m.claimed(ctx, key)
		switch {
		case err != nil:
			return err
		case have == nil:
			free = append(free, Answer{"", key, value})
		case have.Asked == mine.Asked:
		case key == merge, have.Now == mine.Now:
			return reason.Reject(reasonTwice, "it was seen as %s before", have.Asked.String())
		default: // a/b-c and a-b/c
			k.called += fmt.Sprintf("-%x", sha256.Sum256([]byte(mine.Now.String())))[:9]
		}
	}
	if len(free) == 0 {
		return nil
	}
	return k.m.o.Book.Keep(ctx, free...)
}

// claimed is who has a name or a merge; nil = nobody.
func (m *Miner) claimed(ctx context.Context, key string) (*claim, error) {
	value, taken, err := m.o.Book.Answer(ctx, "", key)
	if err != nil || !taken {
		return nil, err
	}
	var have claim
	if err := json.Unmarshal(value, &have); err != nil {
		return nil, fmt.Errorf("read who has %s: %w", key, err)
	}
	return &have, nil
}
