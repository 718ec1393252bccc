package workbench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/mining/reason"
)

// Where a model finds the pull request's patches.
const (
	changePatch = "/tmp/pull/change.patch"
	testsPatch  = "/tmp/pull/tests.patch"
)

// bench is the work on one job.
type bench struct {
	job  Job
	room Room
	ask  Ask
	try  Try

	messages []Message
	spent    *Spent
	tries    int
	refused  map[string]string // proposal -> what was wrong with it
	taken    []string          // files that the pull request touches
	hint     string            // what was wrong with the hint
	done     *Proposal
}

// Run has a model work until a proposal is proved, which is returned. The hint is proved first,
// and if it is sound the model is never asked. A *reason.Rejected says why there is no
// environment: its codes are this package's constants, or what try rejects with. Any other
// error is trouble, of the caller's functions or of the context, or a model that is too slow.
func Run(ctx context.Context, j Job, room Room, ask Ask, try Try) (Proposal, error) {
	if err := j.check(); err != nil {
		return Proposal{}, fmt.Errorf("prepare the workbench of %s: %w", j.Repo, err)
	}
	if !j.Write && len(j.Tests) == 0 {
		return Proposal{}, reason.Reject(NoTests, "the pull request changes no tests, and none are to be written")
	}
	b := &bench{job: j, room: room, ask: ask, try: try, spent: cmp.Or(j.Spent, &Spent{}), refused: map[string]string{}}
	p, err := b.run(ctx)
	if ctx.Err() != nil && reason.Of(err) == nil && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Proposal{}, err
	}
	return p, nil
}

func (b *bench) run(ctx context.Context) (Proposal, error) {
	p, ok, err := b.tryHint(ctx)
	if err != nil || ok {
		return p, err
	}
	if err := b.lay(ctx); err != nil {
		return Proposal{}, err
	}
	b.messages = []Message{{Role: "system", Content: rules(b.job)}, {Role: "user", Content: b.order()}}
	tools, idle := offered(b.job), 0
	for b.spent.Turns < b.job.MaxTurns {
		turn := b.spent.Turns
		b.spent.Turns++
		b.messages = compact(b.messages, mostTalk, lessTalk)
		answer, err := b.answer(ctx, turn, tools)
		if err != nil {
			return Proposal{}, err
		}
		understood, err := b.follow(ctx, turn, answer)
		if err != nil {
			return Proposal{}, err
		}
		if b.done != nil {
			return *b.done, nil
		}
		if idle++; understood {
			idle = 0
		}
		if idle == maxIdle {
			return Proposal{}, reason.Reject(GaveUp, "no call in %d turns in a row could be understood", maxIdle)
		}
	}
	return Proposal{}, reason.Reject(Turns, "%d turns", b.job.MaxTurns)
}

// lay puts the patches where the model may apply them.
func (b *bench) lay(ctx context.Context) error {
	for name, content := range map[string][]byte{changePatch: b.job.Source, testsPatch: b.job.Tests} {
		if len(content) == 0 {
			continue
		}
		if err := b.within(ctx, &b.spent.Worked, func(ctx context.Context) error { return b.room.Write(ctx, name, content) }); err != nil {
			return fmt.Errorf("lay %s of %s: %w", path.Base(name), b.job.Repo, err)
		}
	}
	return b.touched()
}

// errTime is why what takes too long is broken off.
var errTime = errors.New("the time of the workbench is over")

// within does a part of the work that counts as time, and breaks it off when that is over. That
// is the pull request's fault only if its commands took the most of it: for a model one may
// have waited long, at its provider or before, and another try finds what it has answered.
func (b *bench) within(ctx context.Context, spent *time.Duration, do func(context.Context) error) error {
	over := func() error {
		if b.spent.Asked > b.spent.Worked {
			return fmt.Errorf("the time of the workbench is over, and %s of %s went to waiting for the model", b.spent.Asked.Round(time.Second), b.job.Timeout)
		}
		return reason.Reject(Timeout, "%s for the model and its commands", b.job.Timeout)
	}
	left := b.job.Timeout - b.spent.Asked - b.spent.Worked
	if left <= 0 {
		return over()
	}
	limited, cancel := context.WithTimeoutCause(ctx, left, errTime)
	defer cancel()
	begun := time.Now()
	err := do(limited)
	*spent += time.Since(begun)
	if err != nil && ctx.Err() == nil && limited.Err() != nil && reason.Of(err) == nil {
		return over()
	}
	return err
}

// answer asks the model. What it is shown is its own.
func (b *bench) answer(ctx context.Context, turn int, tools []Tool) (answer Answer, err error) {
	err = b.within(ctx, &b.spent.Asked, func(ctx context.Context) error {
		answer, err = b.ask(ctx, turn, slices.Clone(b.messages), tools)
		return err
	})
	if err != nil && reason.Of(err) == nil {
		err = fmt.Errorf("ask the model of %s, turn %d: %w", b.job.Repo, turn, err)
	}
	return answer, err
}

// follow does what an answer wants done, all of it in its order, and tells the model what came
// of it. understood is whether a tool was called as it wants to be.
func (b *bench) follow(ctx context.Context, turn int, a Answer) (understood bool, err error) {
	said := Message{Role: "assistant", Content: cut(legible(a.Content), outputHead, outputTail)}
	calls := numbered(a.Calls[:min(len(a.Calls), maxCalls)], turn)
	if len(calls) == 0 {
		if said.Content == "" {
			said.Content = "(nothing)" // an empty message is refused by providers
		}
		b.messages = append(b.messages, said, Message{Role: "user", Content: "Nobody reads that. Call one of the tools." + b.left(turn)})
		return false, nil
	}
	for _, c := range calls {
		said.Calls = append(said.Calls, presentable(c))
	}
	b.messages = append(b.messages, said)
	for i, c := range calls {
		result, err := b.call(ctx, c)
		if err != nil || b.done != nil {
			return true, err
		}
		if i == len(calls)-1 {
			result.text += b.left(turn)
			if len(a.Calls) > len(calls) {
				result.text += fmt.Sprintf("\n[only the first %d calls of an answer are done]", maxCalls)
			}
		}
		understood = understood || result.understood
		b.messages = append(b.messages, Message{Role: "tool", Content: result.text, CallID: c.ID})
	}
	return understood, nil
}

// left tells of the last turns.
func (b *bench) left(turn int) string {
	left := b.job.MaxTurns - turn - 1
	if left == 0 || left > lastTurns {
		return ""
	}
	return fmt.Sprintf("\n[turns left: %d]", left)
}

// numbered are calls that each have an id of their own.
func numbered(calls []Call, turn int) []Call {
	calls = slices.Clone(calls)
	seen := map[string]bool{"": true}
	for i := range calls {
		if seen[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call-%d-%d", turn, i)
		}
		seen[calls[i].ID] = true
	}
	return calls
}

// word is what a tool may be called.
var word = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// presentable is a call as the conversation may hold it. A provider refuses a name that is none
// and arguments that are no object, and with them every later turn.
func presentable(c Call) Call {
	if !word.MatchString(c.Name) {
		c.Name = "unknown"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &object); err != nil || object == nil || len(c.Arguments) > maxArguments {
		c.Arguments = json.RawMessage(`{}`)
	}
	return c
}
