package image

import (
	"context"

	"github.com/assayd/assayd/runtime/task"
)

// roleAgent is the role of an image that has what an agent needs in addition to the task's.
const roleAgent = "agent"

// equipmentDir is where an agent's own folder is while it is installed, as later.
const equipmentDir = "/agent"

// Equipment is what an agent needs installed.
type Equipment struct {
	Agent string    // name
	Dir   task.Tree // its folder
	Setup []string  // commands
}

// Equip returns a work image with what an agent needs: its setup commands are run once, as
// root and with network, with its folder at /agent. It is made on top of the work image, so
// that all trials of the agent on that image share one layer. A command that fails is a
// *SetupError.
func (b *Builder) Equip(ctx context.Context, work Built, t task.Task, e Equipment, labels map[string]string) (Built, error) {
	r := recipe{
		Role: roleAgent, Benchmark: t.Benchmark, Subject: t.Name + "." + e.Agent, Parent: work.ID,
		Workdir: equipmentDir, Context: e.Dir.Digest, Setup: e.Setup,
		Untrusted: t.Untrusted, // what the commands call is of the work image
	}
	parent, err := b.Resolve(ctx, work.ID, t.Platform)
	if err != nil {
		return Built{}, err
	}
	return b.ensure(ctx, r, parent, t.Platform, labels)
}
