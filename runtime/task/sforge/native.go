package sforge

import (
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

// asNative writes a task that came from this format as it came.
func asNative(t task.Task, name string) (sheet, string) {
	const other = "did not come from this format"
	if !strings.HasPrefix(t.Work.Image+t.Work.Ref, name+".work."+t.Name+":") || t.Solution != nil {
		return sheet{}, other
	}
	d := common(t)
	d.native = &t
	d.Name, d.Platform, d.Category, d.Work.SpecsDir = t.Title, t.Platform, t.Metadata["category"], t.Metadata["specs_dir"]
	_, d.Work.Tag, _ = strings.Cut(t.Work.Image+t.Work.Ref, ".work."+t.Name+":")
	_, d.Judge.Tag, _ = strings.Cut(t.Judge.Image+t.Judge.Ref, ".judge."+t.Name+":")
	d.Work.Setup, d.Judge.Setup = commandsOf(t.Work, "setup_workspace.sh"), commandsOf(t.Judge.Part, "setup_judge.sh")
	if argv := t.Judge.Command.Argv; len(argv) > 0 {
		d.Judge.Eval = argv[len(argv)-1]
	}
	d.Judge.Parser = t.Judge.Parser
	if t.Judge.Game != "" {
		d.Game, d.Judge.Server = true, serverOf(t.Judge.Game)
	}
	d.Base, d.base = "none", baseImage{Image: "scratch", Packages: []string{}}
	if t.Base != nil {
		d.Base, d.base = t.Base.Name, baseOf(*t.Base)
		d.base.User = strings.TrimSuffix(d.base.User, tools)
		d.base.PostInstall = strings.TrimPrefix(d.base.PostInstall, agentUser)
		if d.base.Packages[len(d.base.Packages)-1] == "sudo" && t.Base.Ref != "" {
			short := d.base
			short.Packages = short.Packages[:len(short.Packages)-1]
			if _, bench, err := benchmarkText(name, map[string]baseImage{d.Base: short}); err == nil && bench.bases[d.Base].Ref == t.Base.Ref {
				d.base = short
			}
		}
	}
	_, bench, err := benchmarkText(name, map[string]baseImage{d.Base: d.base})
	if err != nil {
		return d, err.Error()
	}
	_, why := d.text(bench)
	return d, why
}

// commandsOf are the commands that made an image, out of the script that ran them.
func commandsOf(p task.Part, script string) []string {
	text, ok := strings.CutPrefix(p.Files["/tmp/"+script], "#!/bin/bash\nset -euxo pipefail\n")
	if !ok {
		return nil
	}
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

// serverOf is the command of a game server, out of the line that starts it.
func serverOf(line string) string {
	at := strings.LastIndex(line, "exec /bin/bash -c ")
	word := strings.TrimPrefix(line[max(at, 0):], "exec /bin/bash -c ")
	word = strings.TrimSuffix(strings.TrimPrefix(word, "'"), "'")
	return strings.ReplaceAll(word, `'\''`, "'")
}
