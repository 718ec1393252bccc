package parser

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// unittestTripwire arms the discovery of python -m unittest by a test file in the directory
// where it starts, named so that it comes late. It is not armed without -v, which names
// passed tests, nor where tests are named or chosen, where the run stops at a failure, or
// where the start is a package of its own, which can decide what is loaded from it.
func unittestTripwire(site Site) (Tripwire, bool) {
	in, ok := lastInvocation(site)
	if !ok {
		return Tripwire{}, false
	}
	args, ok := unittestArguments(in.args)
	if !ok {
		return Tripwire{}, false
	}
	run, ok := readDiscovery(args)
	dir := resolve(in.dir, run.start)
	if !ok || run.start != "." && !holdsHidden(site, dir) {
		return Tripwire{}, false
	}
	file := mark(site.Nonce, "file")
	for _, name := range []string{"testzzz_" + file + ".py", "test_zzz_" + file + ".py", "zzz_" + file + "_test.py"} {
		if fits, err := path.Match(run.pattern, name); err != nil || !fits {
			continue
		}
		pass, fail := marks(site.Nonce)
		source := fmt.Sprintf("import unittest\n\n\nclass Test%s(unittest.TestCase):\n    def test_%s(self):\n        pass\n\n    def test_%s(self):\n        self.fail()\n", file, pass, fail)
		return Tripwire{
			Files:    map[string]string{path.Join(dir, name): source},
			MustPass: containing("test_" + pass),
			MustFail: containing("test_" + fail),
			ExitCode: 1,
		}, true
	}
	return Tripwire{}, false
}

// unittestArguments returns what stands behind "python -m unittest".
func unittestArguments(args []string) ([]string, bool) {
	program := regexp.MustCompile(`^(?:.*/)?python[0-9.]*$`)
	if !program.MatchString(args[0]) {
		return nil, false
	}
	plain := regexp.MustCompile(`^-[BbEIOsuv]+$`)
	rest := args[1:]
	for len(rest) > 0 && plain.MatchString(rest[0]) {
		rest = rest[1:]
	}
	for len(rest) > 2 && (rest[0] == "-W" || rest[0] == "-X") {
		rest = rest[2:]
	}
	if len(rest) < 2 || rest[0] != "-m" || rest[1] != "unittest" {
		return nil, false
	}
	return rest[2:], true
}

// discovery is where unittest looks for tests.
type discovery struct {
	start, pattern string
	names          bool // passed tests are named
}

// readDiscovery reads arguments of python -m unittest. It reports false for whatever is no
// discovery, or one in which an added test could be left out.
func readDiscovery(args []string) (discovery, bool) {
	d := discovery{start: ".", pattern: "test*.py"}
	explicit := len(args) > 0 && args[0] == "discover"
	if explicit {
		args = args[1:]
	}
	places := []*string{&d.start, &d.pattern}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		at := slices.Index([]string{"-s", "--start-directory", "-p", "--pattern"}, name)
		switch {
		case slices.Contains([]string{"-v", "--verbose"}, args[i]):
			d.names = true
		case slices.Contains([]string{"-b", "--buffer", "-c", "--catch", "--locals"}, args[i]):
		case !explicit:
			return d, false // the name of a test, or a flag that chooses some
		case at >= 0 && joined && strings.HasPrefix(name, "--"):
			*places[at/2] = value
		case at >= 0 && !joined && i+1 < len(args):
			i++
			*places[at/2] = args[i]
		default:
			return d, false
		}
	}
	return d, d.names && isFolder(d.start) && !strings.ContainsAny(d.pattern, `/[\`)
}

// isFolder says whether a start of discovery can be a path: with dots it may name a package.
func isFolder(start string) bool {
	return start == "." || start != "" && !strings.HasPrefix(start, "-") && !strings.Contains(strings.TrimPrefix(start, "./"), ".")
}

// holdsHidden says whether a hidden file lies below a directory, which so is there.
func holdsHidden(site Site, dir string) bool {
	return slices.ContainsFunc(site.Hidden, func(name string) bool {
		return strings.HasPrefix(resolve(path.Clean(site.Workdir), name), strings.TrimSuffix(dir, "/")+"/")
	})
}
