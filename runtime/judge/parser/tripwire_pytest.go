package parser

import (
	_ "embed"
	"path"
	"regexp"
	"strings"
)

// pytestPlugin is a conftest.py of the root directory. It runs the two tests after the
// loop over all others, so that neither -k, --deselect, -x nor errors of collection keep
// them from running, and gives the exit code back as it was without them.
//
//go:embed tripwire_pytest.py
var pytestPlugin string

// pytestTripwire arms pytest: a conftest.py in the root directory, which --confcutdir lets
// pytest find above any test, whatever the command line, PYTHONPATH or ini file say. It
// also asks for the names of passed tests, which -q leaves out.
//
// It is not armed where the command sets what it needs, starts pytest where the environment
// does not reach, or never mentions pytest. Under pytest-xdist the two tests run in the
// controlling process and say nothing of the workers.
func pytestTripwire(site Site) (Tripwire, bool) {
	if path.Clean(site.Workdir) == "/" || !startsPytest(site.Command) {
		return Tripwire{}, false
	}
	pass, fail := marks(site.Nonce)
	plugin := strings.NewReplacer("@PASS@", pass, "@FAIL@", fail).Replace(pytestPlugin)
	options := "--confcutdir=/ -rap"
	if given := site.Env["PYTEST_ADDOPTS"]; given != "" {
		if steersConftest(given) {
			return Tripwire{}, false
		}
		options = given + " " + options
	}
	return Tripwire{
		Files:    map[string]string{"/conftest.py": plugin},
		Env:      map[string]string{"PYTEST_ADDOPTS": options},
		MustPass: containing(pass),
		MustFail: containing(fail),
		ExitCode: 0,
	}, true
}

// startsPytest says whether the command runs pytest in a way that reads our settings.
func startsPytest(command string) bool {
	runs := regexp.MustCompile(`(?:^|[\s/;&|(])(?:pytest|py\.test)(?:$|[\s;&|)])`)
	escapes := regexp.MustCompile(`(?:^|[\s/;&|(])(?:tox|nox|sudo|su|chroot|docker)\s|\benv\s+(?:-i|-)\s|--collect-only|--co\s`)
	return runs.MatchString(command) && !escapes.MatchString(command) && !steersConftest(command)
}

func steersConftest(text string) bool {
	return strings.Contains(text, "PYTEST_ADDOPTS") || strings.Contains(text, "conftest") ||
		strings.Contains(text, "--confcutdir") || strings.Contains(text, "no:terminal")
}
