package parser

import (
	_ "embed"
	"slices"
	"strings"
)

// nodePreload registers the two tests in every process that node's runner starts for a
// test file, after the file was loaded.
//
//go:embed tripwire_node.cjs
var nodePreload string

// nodeTripwire arms "node --test" with a script that NODE_OPTIONS preloads. It is not armed
// where NODE_OPTIONS is taken, where some tests are left out by name or kind, or where the
// files do not run in processes of their own.
func nodeTripwire(site Site) (Tripwire, bool) {
	in, ok := lastInvocation(site)
	if !ok || in.value(site, "NODE_OPTIONS") != "" || strings.Contains(site.Command, "NODE_OPTIONS") {
		return Tripwire{}, false
	}
	if (in.args[0] != "node" && !strings.HasSuffix(in.args[0], "/node")) || !slices.Contains(in.args, "--test") {
		return Tripwire{}, false
	}
	for _, arg := range in.args {
		for _, flag := range []string{"--test-name-pattern", "--test-skip-pattern", "--test-only", "--test-isolation", "--experimental-test-isolation", "--watch"} {
			if strings.HasPrefix(arg, flag) {
				return Tripwire{}, false
			}
		}
	}
	pass, fail := marks(site.Nonce)
	file := "/" + mark(site.Nonce, "file") + ".cjs"
	script := strings.NewReplacer("@PASS@", pass, "@FAIL@", fail, "@FILE@", file).Replace(nodePreload)
	return Tripwire{
		Files:    map[string]string{file: script},
		Env:      map[string]string{"NODE_OPTIONS": "--require=" + file},
		MustPass: containing(pass),
		MustFail: containing(fail),
		ExitCode: 1,
	}, true
}
