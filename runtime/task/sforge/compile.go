package sforge

import (
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

// What a task gets that says nothing else: as in the language, but for processes, of which SForge allows
// any number.
const (
	defaultCPUs   = 1
	defaultMemory = 2 << 30
	defaultPIDs   = 32768
	defaultDisk   = 10 << 30
	defaultBytes  = 1 << 30
	defaultFiles  = 100_000
)

// agentName is the user of work containers; judges are root.
const agentName = "agent"

// gamePort is where every game server listens.
const gamePort = 8000

// task turns what the file says into plain values.
func (f file) task(bench *benchmark, b *base) task.Task {
	t := task.Task{
		Name: f.id, Title: f.title, Platform: f.platform, Workdir: path.Clean(f.workdir), Instruction: f.query,
		Network: task.Network{Mode: "none"},
		Submit:  task.Submit{Paths: f.submit, Exclude: f.exclude, MaxBytes: defaultBytes, MaxFiles: defaultFiles},
		Work:    f.work.task(bench, "work", f.id, "setup_workspace.sh"),
		Judge: task.Judge{
			Part:     f.judge.task(bench, "judge", f.id, "setup_judge.sh"),
			FromBase: f.judge.setup != nil,
			Timeout:  f.timeout, Parser: f.parser, Select: f.selection, Direction: f.direction,
			Feedback: "full", Rescale: f.rescale,
		},
		Metadata: map[string]string{},
	}
	if f.internet {
		t.Network.Mode = "open"
	}
	t.Work.User, t.Judge.User = agentName, "root"
	if f.work.setup != nil {
		t.Work.Setup = append(t.Work.Setup, "chown -R agent:agent "+quote(f.workdir))
	}
	if f.work.setup != nil || f.judge.setup != nil {
		t.Base = &b.Base
	}
	if f.eval != "" {
		t.Judge.Command.Argv = []string{"/bin/bash", "-uo", "pipefail", "-c", f.eval}
	}
	if f.game {
		t.Judge.Game, t.Judge.Port = gameCommand(f.server), gamePort
	}
	for key, value := range map[string]string{"category": f.category, "specs_dir": f.specsDir} {
		if value != "" {
			t.Metadata[key] = value
		}
	}
	return t
}

// task is the part with its image: one that is only named, or the commands that make it.
// The script is not left in the image: it tells what was taken out of it.
func (p part) task(bench *benchmark, role, id, script string) task.Part {
	out := task.Part{CPUs: defaultCPUs, Memory: defaultMemory, PIDs: defaultPIDs, Disk: defaultDisk}
	if p.cpus > 0 {
		out.CPUs = p.cpus
	}
	if p.memory > 0 {
		out.Memory = p.memory
	}
	name := imageName(bench.name, role, id, p.tag)
	if p.setup == nil {
		out.Image = name
		return out
	}
	file := "/tmp/" + script
	out.Ref, out.AtHome = name, true
	out.Files = map[string]string{file: "#!/bin/bash\nset -euxo pipefail\n" + strings.Join(append(p.setup[:len(p.setup):len(p.setup)], ""), "\n")}
	out.Setup = []string{"/bin/bash " + file, "rm -f " + file}
	return out
}

// quote makes one word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
