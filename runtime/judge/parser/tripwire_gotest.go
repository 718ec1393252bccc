package parser

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// gotestTripwire arms "go test" by a test file in one directory that holds hidden test
// files and that the command tests. It is not armed where the command chooses tests in a
// way that leaves the two out, stops early, or names packages by anything but a path.
//
// A submission that does not compile, exits in an init function or crashes shows neither
// of the two: the package failed to build, or named no test.
func gotestTripwire(site Site) (Tripwire, bool) {
	in, ok := lastInvocation(site)
	if !ok || len(in.args) < 2 || (in.args[0] != "go" && !strings.HasSuffix(in.args[0], "/go")) || in.args[1] != "test" {
		return Tripwire{}, false
	}
	flags := strings.Fields(in.value(site, "GOFLAGS"))
	run, ok := readGoTest(append(flags, in.args[2:]...))
	if _, own := in.env["GOFLAGS"]; !ok || own && !run.names {
		return Tripwire{}, false // without names the two could not be seen
	}
	pass, fail := marks(site.Nonce)
	passName, failName := "TestZ"+pass, "TestZ"+fail
	if !run.selects(passName) || !run.selects(failName) {
		return Tripwire{}, false
	}
	packages := hiddenPackages(site, in.dir, run.packages)
	if len(packages) == 0 {
		return Tripwire{}, false
	}
	files := map[string]string{}
	for dir, pkg := range packages {
		files[path.Join(dir, "zzz_"+mark(site.Nonce, "file")+"_test.go")] = fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc %s(t *testing.T) {}\n\nfunc %s(t *testing.T) { t.Fail() }\n", pkg, passName, failName)
	}
	return Tripwire{
		Files: files, Places: len(files),
		MustPass: containing(passName),
		MustFail: containing(failName),
		ExitCode: 1,
	}, true
}

// goTestRun is what a go test command line says about which tests run.
type goTestRun struct {
	run, skip string
	packages  []string // path patterns
	names     bool     // passed tests are named
}

// readGoTest reads arguments of go test. It reports false for flags with which nothing is
// run, not all of it is, or it is unclear where a flag ends.
func readGoTest(args []string) (goTestRun, bool) {
	valued := []string{"run", "skip", "count", "timeout", "tags", "p", "parallel", "cpu", "shuffle", "coverprofile", "covermode", "coverpkg", "mod", "modfile", "ldflags", "gcflags", "vet"}
	plain := []string{"v", "json", "race", "cover", "short", "a", "x", "trimpath", "fullpath", "work", "msan", "asan"}
	var r goTestRun
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") {
			r.packages = append(r.packages, arg)
			continue
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		switch {
		case slices.Contains(plain, name):
			r.names = r.names || name == "v" || name == "json"
			continue
		case !slices.Contains(valued, name):
			return r, false
		case !joined && i+1 == len(args):
			return r, false
		case !joined:
			i++
			value = args[i]
		}
		switch name {
		case "run":
			r.run = value
		case "skip":
			r.skip = value
		}
	}
	if len(r.packages) == 0 {
		r.packages = []string{"."}
	}
	return r, true
}

// selects says whether a test of that name runs.
func (r goTestRun) selects(name string) bool {
	if strings.Contains(r.run+r.skip, "/") {
		return false
	}
	run, err1 := regexp.Compile(r.run)
	skip, err2 := regexp.Compile(r.skip)
	if err1 != nil || err2 != nil {
		return false
	}
	return run.MatchString(name) && (r.skip == "" || !skip.MatchString(name))
}

// maxPlaces bounds the packages that get the two tests.
const maxPlaces = 50

// hiddenPackages are directories with hidden test files that the command tests, with the names of
// the packages those files belong to: the first one, and those of which tests are known to run. A
// package that is not run shows neither of the two, whatever another one prints of it.
func hiddenPackages(site Site, dir string, patterns []string) map[string]string {
	found := map[string]string{}
	for _, hidden := range slices.Sorted(slices.Values(site.Hidden)) {
		file := resolve(path.Clean(site.Workdir), hidden)
		at := path.Dir(file)
		if !strings.HasSuffix(file, "_test.go") || site.Read == nil || found[at] != "" || len(found) == maxPlaces || !covered(at, dir, patterns) {
			continue
		}
		if len(found) > 0 && !known(site, path.Dir(path.Clean(hidden))) {
			continue
		}
		source := site.Read(hidden)
		if source == nil || conditional(path.Base(file), source) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.PackageClauseOnly)
		if err == nil {
			found[at] = parsed.Name.Name
		}
	}
	return found
}

// known reports whether a test is expected of the package in a folder below the workdir.
func known(site Site, folder string) bool {
	return folder != "." && slices.ContainsFunc(site.Expect, func(name string) bool {
		pkg, _, ok := strings.Cut(name, "::")
		return ok && strings.HasSuffix(pkg, "/"+folder)
	})
}

// covered says whether one of the path patterns, relative to dir, names the target. A
// pattern with dots passes over testdata, vendor and directories that begin with a dot or
// an underscore.
func covered(target, dir string, patterns []string) bool {
	for _, pattern := range patterns {
		if pattern != "." && !strings.HasPrefix(pattern, "./") && !strings.HasPrefix(pattern, "../") {
			continue
		}
		base, deep := strings.CutSuffix(pattern, "/...")
		base = resolve(dir, base)
		if target == base {
			return true
		}
		below, inside := strings.CutPrefix(target, strings.TrimSuffix(base, "/")+"/")
		if deep && inside && !passedOver(below) {
			return true
		}
	}
	return false
}

func passedOver(below string) bool {
	for _, part := range strings.Split(below, "/") {
		if part == "testdata" || part == "vendor" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return true
		}
	}
	return false
}

// conditional says whether a test file may be left out of a build, by its name or by a
// constraint: it then is no good model for a file that must be in.
func conditional(name string, source []byte) bool {
	base := strings.TrimSuffix(name, "_test.go")
	constraint := regexp.MustCompile(`(?m)^//\s*(?:go:build|\+build)\s`)
	return strings.Contains(base, "_") && regexp.MustCompile(`_(?:linux|darwin|windows|amd64|arm64|386|arm|js|wasm|freebsd|unix|plan9)$`).MatchString(base) ||
		strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || constraint.Match(source)
}
