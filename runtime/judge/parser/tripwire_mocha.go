package parser

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// mochaSuite is a test file with the two tests. mocha reads the files of ./test in the
// order of their names, as CommonJS or as ES modules, and runs describe blocks after all tests outside of one.
//
//go:embed tripwire_mocha.js
var mochaSuite string

// mochaTripwire arms a mocha that runs the files of ./test by itself. It is not armed where
// the command or settings choose among files or tests, or stop at the first failure.
func mochaTripwire(site Site) (Tripwire, bool) {
	run, ok := readNpmRun(site, "mocha")
	if !ok || !runsAllMocha(run.args) || run.manifest["mocha"] != nil || site.Env["MOCHA_OPTIONS"] != "" ||
		strings.Contains(site.Command, "MOCHA_OPTIONS") || hiddenNamed(site, ".mocharc*") || hiddenNamed(site, "mocha.opts") {
		return Tripwire{}, false
	}
	pass, fail := marks(site.Nonce)
	name := mark(site.Nonce, "file")
	source := strings.NewReplacer("@PASS@", pass, "@FAIL@", fail, "@SUITE@", name).Replace(mochaSuite)
	return Tripwire{
		Files:    map[string]string{path.Join(run.dir, "test", "zzz_"+name+".js"): source},
		MustPass: containing(pass),
		MustFail: containing(fail),
		ExitCode: 1,
	}, true
}

// runsAllMocha says whether arguments of mocha leave it to mocha what to run.
func runsAllMocha(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case slices.Contains([]string{"--exit", "--no-color", "--no-colors", "--check-leaks", "--reporter=spec", "--reporter=json"}, arg):
		case slices.Contains([]string{"--reporter", "-R"}, arg) && i+1 < len(args) && (args[i+1] == "spec" || args[i+1] == "json"):
			i++
		default:
			return false
		}
	}
	return true
}
