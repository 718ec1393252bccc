package parser

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// jestTripwire arms a jest that runs every test file it finds by itself: a test file in the
// directory of its package.json. It is not armed where the command chooses among files or
// tests or stops early, where passed tests are not named, or where the project has settings
// that can leave the file out.
//
// jest gives each test file globals of its own, so what a submission does to those of
// another file is not seen; that it forged the output, patched the process or ended it is.
func jestTripwire(site Site) (Tripwire, bool) {
	run, ok := readNpmRun(site, "jest")
	if !ok || !runsAllJest(run.args) || hiddenNamed(site, "jest.config.*") || !plainJest(run.manifest["jest"]) {
		return Tripwire{}, false
	}
	pass, fail := marks(site.Nonce)
	source := fmt.Sprintf("test('%s', () => {});\ntest('%s', () => { throw new Error('failed'); });\n", pass, fail)
	return Tripwire{
		Files:    map[string]string{path.Join(run.dir, "zzz_"+mark(site.Nonce, "file")+".test.js"): source},
		MustPass: containing(pass),
		MustFail: containing(fail),
		ExitCode: 1,
	}, true
}

// runsAllJest says whether arguments of jest run all files and name all tests.
func runsAllJest(args []string) bool {
	plain := []string{
		"--verbose", "--verbose=true", "--json", "--ci", "--runInBand", "-i", "--silent", "--no-cache", "--cache=false",
		"--forceExit", "--detectOpenHandles", "--passWithNoTests", "--no-color", "--colors", "--watchAll=false",
		"--no-coverage", "--coverage=false", "--logHeapUsage",
	}
	for _, arg := range args {
		if !slices.Contains(plain, arg) {
			return false
		}
	}
	return slices.Contains(args, "--verbose") || slices.Contains(args, "--verbose=true") || slices.Contains(args, "--json")
}

// plainJest says whether the settings in package.json leave it to jest which files to run
// and how to read them.
func plainJest(settings json.RawMessage) bool {
	if settings == nil {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(settings, &fields) != nil {
		return false
	}
	for name := range fields {
		if !slices.Contains([]string{"verbose", "testTimeout", "clearMocks", "resetMocks", "restoreMocks", "maxWorkers"}, name) {
			return false
		}
	}
	return string(fields["verbose"]) != "false"
}
