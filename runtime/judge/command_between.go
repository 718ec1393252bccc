package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// between takes away what a command has left running, and its tripwire.
func (g *grading) between(ctx context.Context, before scoring.Command) error {
	if err := g.quieten(ctx); err != nil {
		return err
	}
	var names strings.Builder
	for _, canary := range before.Canaries {
		for _, name := range slices.Sorted(maps.Keys(canary.Files)) {
			names.WriteString(strings.TrimPrefix(name, "/") + "\x00")
		}
	}
	if names.Len() == 0 {
		return nil
	}
	said, err := g.guest(ctx, strings.NewReader(names.String()), "remove", "/")
	if errors.Is(err, errGuest) { // something was put in its place
		err = fmt.Errorf("%w: %w", errNotRun, err)
	}
	if err != nil {
		return fmt.Errorf("take a tripwire away: %w", orSaid(err, said))
	}
	return nil
}

// sweepTime bounds the guest's sweep of a container.
const sweepTime = 20 * time.Second

// quieten leaves nothing running in the container but its first process. Where the guest
// cannot do that, or is kept from it, the container is stopped and started again from its
// own layer: nothing outlives that.
func (g *grading) quieten(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	said, err := g.guest(bounded, nil, "sweep", "/")
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !errors.Is(err, errNoGuest) {
		g.judge.opts.Log.Debug("a judge container is started again", "submission", g.sub.ID, "error", orSaid(err, said))
	}
	inst, err := g.judge.opts.Engine.Inspect(ctx, g.id)
	if err != nil {
		return fmt.Errorf("start a judge container again: %w", err)
	}
	if err := g.kill(ctx); err != nil {
		return err
	}
	w := g.workload
	w.Name = inst.Name // one that waited has a name of its own
	if _, err := g.judge.host.Launch(ctx, w); err != nil {
		return blamed(ctx, fmt.Errorf("start a judge container again: %w", err))
	}
	return nil
}

// armCommand adds the tripwire of a command's runner, where it has one, and returns the
// environment for the command. It can be taken away again only by the guest.
func (g *grading) armCommand(ctx context.Context, run *scoring.Command, env map[string]string) (map[string]string, error) {
	if g.judge.opts.Guest == "" || len(run.Runners) != 1 || run.Runners[0].Tripwire == nil || !run.Runners[0].Whole {
		return env, nil
	}
	canary, ok := run.Runners[0].Tripwire(parser.Site{
		Command: run.Text, Workdir: g.session.Task.Workdir, Env: env, Hidden: g.profile.Files, Nonce: round.NewID(),
		Read: func(name string) []byte { return g.profile.Content[name] },
	})
	if !ok {
		return env, nil
	}
	run.Canaries = []parser.Tripwire{canary}
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, canary.Env)
	return out, g.plant(ctx, canary)
}

// plant lays the files of a tripwire into the container, as root's. Each is of a time of its
// own: of equal ones some runtimes would take what they made of the last.
func (g *grading) plant(ctx context.Context, canary parser.Tripwire) error {
	g.planted++
	at := g.sub.StartedAt.Truncate(time.Second).Add(time.Duration(g.planted-1) * time.Second)
	return g.judge.host.Pour(ctx, g.id, "/", func(w *tar.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(canary.Files)) {
			content := canary.Files[name]
			g.nowLaid(name, content)
			h := &tar.Header{
				Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o644,
				Size: int64(len(content)), ModTime: at,
			}
			if err := w.WriteHeader(h); err != nil {
				return fmt.Errorf("write tripwire %s: %w", name, err)
			}
			if _, err := io.WriteString(w, content); err != nil {
				return fmt.Errorf("write tripwire %s: %w", name, err)
			}
		}
		return nil
	})
}
