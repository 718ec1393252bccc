package parser

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// npmRun is a runner of the npm world, started by itself, by npx or by npm test.
type npmRun struct {
	dir      string                     // absolute
	args     []string                   // of the runner
	manifest map[string]json.RawMessage // package.json of dir
}

// readNpmRun reads a command that starts the tool in a directory whose package.json is
// hidden, and so is not the submission's: it can hold settings of the tool that leave an
// added test out, and then its absence would look like tampering.
func readNpmRun(site Site, tool string) (npmRun, bool) {
	in, ok := lastInvocation(site)
	if !ok || site.Read == nil || strings.Contains(in.dir+"/", "/node_modules/") || in.value(site, "NODE_OPTIONS") != "" {
		return npmRun{}, false
	}
	run := npmRun{dir: in.dir}
	file, ok := hiddenIn(site, in.dir, "package.json")
	if !ok || json.Unmarshal(site.Read(file), &run.manifest) != nil || run.manifest == nil {
		return npmRun{}, false
	}
	args := in.args
	if script, more, ok := npmScript(args); ok {
		var scripts map[string]string
		if json.Unmarshal(run.manifest["scripts"], &scripts) != nil {
			return npmRun{}, false
		}
		parts, ok := splitCommand(scripts[script])
		if !ok || len(parts) != 1 {
			return npmRun{}, false
		}
		args = slices.Concat(parts[0], more)
	}
	run.args, ok = toolArgs(args, tool)
	return run, ok
}

// npmScript reads "npm test" and what it is short for: which script runs, with which
// further arguments.
func npmScript(args []string) (script string, more []string, ok bool) {
	if len(args) < 2 || args[0] != "npm" {
		return "", nil, false
	}
	args = args[1:]
	switch {
	case slices.Contains([]string{"test", "t", "tst"}, args[0]):
		script, args = "test", args[1:]
	case len(args) > 1 && slices.Contains([]string{"run", "run-script"}, args[0]):
		script, args = args[1], args[2:]
	default:
		return "", nil, false
	}
	if len(args) > 0 && args[0] != "--" {
		return "", nil, false
	}
	return script, args[min(1, len(args)):], true
}

// toolArgs returns the arguments of the tool, if that is what a command starts.
func toolArgs(args []string, tool string) ([]string, bool) {
	if len(args) > 0 && args[0] == "npx" {
		args = args[1:]
		for len(args) > 0 && slices.Contains([]string{"--no-install", "--no", "--offline"}, args[0]) {
			args = args[1:]
		}
	}
	if len(args) == 0 || args[0] != tool && !strings.HasSuffix(args[0], "node_modules/.bin/"+tool) {
		return nil, false
	}
	return args[1:], true
}

// hiddenIn returns the hidden file of that name in a directory.
func hiddenIn(site Site, dir, name string) (file string, ok bool) {
	for _, hidden := range site.Hidden {
		if resolve(path.Clean(site.Workdir), hidden) == path.Join(dir, name) {
			return hidden, true
		}
	}
	return "", false
}

// hiddenNamed says whether a hidden file, wherever it is, has a name that matches.
func hiddenNamed(site Site, glob string) bool {
	return slices.ContainsFunc(site.Hidden, func(file string) bool {
		matched, err := path.Match(glob, path.Base(file))
		return matched || err != nil
	})
}
