package taskcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/vet"
)

// Rater is a model that says how good and how hard tasks are.
type Rater struct {
	Provider string // of the settings
	Model    string
}

// Rating is what became of evaluate.Ask a Rater about a task.
type Rating struct {
	*mining.Rated               // nil = there is none, and Error says why
	Error         string        `json:"error,omitempty"`
	Provider      string        `json:"provider"`
	Model         string        `json:"model"`
	Usage         gateway.Usage `json:"usage"` // of this rating alone, with what came to nothing
	CostUSD       float64       `json:"cost_usd"`
}

// Check looks whether the settings let a rater be asked; what they lack is a *request.Mistake.
func (a Rater) Check(o config.Options) error {
	var known map[string]config.Provider
	if o.Settings != nil {
		known = o.Settings.Providers
	}
	p, ok := known[a.Provider]
	read := o.Secret
	if read == nil {
		read = func(string) (string, bool) { return "", false }
	}
	switch {
	case !ok:
		return request.Mistakef("rate tasks: the settings have no provider %q%s", a.Provider, request.Suggest(a.Provider, slices.Sorted(maps.Keys(known))))
	case p.Protocol != wire.OpenAI:
		return request.Mistakef("rate tasks: models are asked by chat completions, and provider %q speaks the protocol of %s; name one that speaks openai's", a.Provider, p.Protocol)
	case a.Model == "":
		return request.Mistakef("rate tasks: name a model of provider %q", a.Provider)
	}
	if _, ok := p.APIKey.Value(read); !ok {
		return request.Mistakef("rate tasks: %w", p.NoKey(a.Provider))
	}
	return nil
}

// rateable is Check by what this daemon has.
func (r *Checker) rateable(a *Rater) error {
	if a == nil {
		return nil
	}
	if err := a.Check(r.o.Config); err != nil {
		return err
	}
	if r.o.Host.Gateway == nil {
		return request.ErrIdle
	}
	return nil
}

// rate asks the model about the task. What it does not answer is told in the rating: the rest
// of the check stands.
func (k *checking) rate(ctx context.Context, a Rater) error {
	out := Rating{Provider: a.Provider, Model: a.Model}
	fix, err := k.fix(ctx)
	var tests []byte
	if err == nil {
		tests, err = k.tests()
	}
	if err == nil {
		grant := gateway.Grant{
			Account:  gateway.Account{Spec: k.address, Trial: checkName(), Try: 1},
			Provider: a.Provider, Model: a.Model,
		}
		out.Rated, out.Usage, err = mining.Rate(ctx, k.r.o.Host.Gateway, grant, k.task, fix, tests)
		out.CostUSD = out.Usage.CostUSD
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case container.Unavailable(err):
		return err
	case err != nil:
		out.Rated, out.Error = nil, err.Error()
	}
	k.out.Rating = &out
	return nil
}

// checkName tells the checks of a task apart in the books.
func checkName() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	return "check." + hex.EncodeToString(id[:])
}

// fix is the solution as a diff to the tree that agents begin with.
func (k *checking) fix(ctx context.Context) (diff []byte, err error) {
	switch s := k.task.Solution; {
	case s == nil:
		return nil, errors.New("there is no solution, by which a model sees what the task is about")
	case s.Patch != nil:
		diff = s.Patch
	case k.solution == nil:
		return nil, errors.New("the solution could not be made, by which a model sees what the task is about")
	case s.Context.Digest != "":
		diff, err = k.laid(ctx, s.Context)
	default:
		diff = k.solution.diff
	}
	if err == nil && len(bytes.TrimSpace(diff)) == 0 {
		err = errors.New("the solution changes nothing that an agent may submit")
	}
	return diff, err
}

// laid is a tree that is laid over the one of the task, as a diff.
func (k *checking) laid(ctx context.Context, tree task.Tree) (diff []byte, err error) {
	var names []string
	for _, t := range k.solution.texts {
		names = append(names, t.Name)
	}
	base, err := k.r.o.Host.Trees().Base(ctx, k.task, k.work.Ref, k.work.ID, k.labels)
	if err != nil {
		return nil, err
	}
	content, err := k.r.o.Host.OpenBlob(tree.Digest)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return base.Diff(ctx, content, names)
}

// tests are the hidden files as a diff. The private set stays private.
func (k *checking) tests() ([]byte, error) {
	texts, err := k.judged()
	return slices.Concat(k.task.Judge.Patch, written(texts)), err
}

// written shows texts as a diff that adds them; what is no text is passed over.
func written(texts []vet.Text) []byte {
	texts = slices.SortedStableFunc(slices.Values(texts), func(a, b vet.Text) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	for _, t := range texts {
		if bytes.IndexByte(t.Content, 0) >= 0 {
			continue
		}
		lines := slices.Collect(bytes.Lines(t.Content))
		fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,%[2]d @@\n", strings.TrimPrefix(t.Name, "/"), len(lines))
		for _, line := range lines {
			fmt.Fprintf(&b, "+%s\n", bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return b.Bytes()
}
