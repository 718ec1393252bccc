package parser

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// cargoTripwire arms cargo test by two tests at the end of each hidden file of integration
// tests, so that they share its binary with the tests that count. Where no hidden file is fit
// for that, they are a file and a process of their own, which shows that a runner or a
// compiler was put in the place of the real one, and nothing of what happens inside of
// another binary. That needs to know that cargo finds such a file by itself, so it is done
// only where the manifest of the crate is hidden: what a submission makes of another is not
// known. Both need --no-fail-fast, or one failing binary keeps those behind it from running.
func cargoTripwire(site Site) (Tripwire, bool) {
	in, ok := lastInvocation(site)
	if !ok || !runsWholeCrate(in.args) || site.Read == nil {
		return Tripwire{}, false
	}
	pass, fail := marks(site.Nonce)
	pass, fail = "pass_"+pass, "fail_"+fail
	source := fmt.Sprintf("#[test]\nfn %s() {}\n\n#[test]\nfn %s() {\n    panic!();\n}\n", pass, fail)
	wire := Tripwire{Files: integrationTests(site, in.dir), MustPass: containing(pass), MustFail: containing(fail), ExitCode: 101}
	for name, content := range wire.Files {
		wire.Files[name] = content + "\n" + source
	}
	if len(wire.Files) > 0 {
		return wire, true
	}
	manifest := path.Join(in.dir, "Cargo.toml")
	at := slices.IndexFunc(site.Hidden, func(name string) bool { return resolve(path.Clean(site.Workdir), name) == manifest })
	if at < 0 || !findsTests(string(site.Read(site.Hidden[at]))) {
		return Tripwire{}, false
	}
	wire.Files = map[string]string{path.Join(in.dir, "tests", "zzz_"+mark(site.Nonce, "file")+".rs"): "//! Two tests.\n\n" + source}
	return wire, true
}

// integrationTests are the hidden files of which cargo makes a test binary each, by absolute
// path, with what is in them. One that may be left out of a build, or that runs its tests in
// a way of its own, is none.
func integrationTests(site Site, crate string) map[string]string {
	steers := regexp.MustCompile(`#!\[\s*(?:cfg|no_main|no_std|feature|test_runner|forbid|deny)|\bfn\s+main\s*\(`)
	found := map[string]string{}
	for _, name := range site.Hidden {
		at := resolve(path.Clean(site.Workdir), name)
		if path.Dir(at) != path.Join(crate, "tests") || path.Ext(at) != ".rs" {
			continue
		}
		if content := string(site.Read(name)); strings.Contains(content, "#[test]") && !steers.MatchString(content) {
			found[at] = content
		}
	}
	return found
}

// runsWholeCrate says whether a command is cargo test of every target and every test.
func runsWholeCrate(args []string) bool {
	if len(args) < 2 || args[0] != "cargo" && !strings.HasSuffix(args[0], "/cargo") || args[1] != "test" {
		return false
	}
	plain := []string{"--no-fail-fast", "--offline", "--locked", "--frozen", "--release", "--all-features", "--no-default-features", "-v", "--verbose", "-r"}
	for _, arg := range args[2:] {
		if !slices.Contains(plain, arg) {
			return false
		}
	}
	return slices.Contains(args, "--no-fail-fast")
}

// findsTests says whether a manifest is one of a crate whose files below tests/ are found
// without being named and are not held to lints, and which a plain command is about.
func findsTests(manifest string) bool {
	crate := regexp.MustCompile(`(?m)^\[package\]\s*$`)
	steers := regexp.MustCompile(`autotests|\[\[\s*test\s*\]\]|default-members|(?m:^\s*test\s*=)|harness|\[(?:workspace\.)?lints`)
	return crate.MatchString(manifest) && !steers.MatchString(manifest)
}
