package parser

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// cargoTripwire arms cargo test by a file of integration tests. It needs to know that cargo
// finds such a file by itself, so it is armed only where the manifest of the crate is
// hidden: what a submission makes of another is not known. It needs --no-fail-fast too, or
// one failing binary keeps those behind it from running.
//
// The two tests are a process of their own: they show that a runner or a compiler was put
// in the place of the real one, and nothing of what happens inside of another test binary.
func cargoTripwire(site Site) (Tripwire, bool) {
	in, ok := lastInvocation(site)
	if !ok || !runsWholeCrate(in.args) || site.Read == nil {
		return Tripwire{}, false
	}
	manifest := path.Join(in.dir, "Cargo.toml")
	at := slices.IndexFunc(site.Hidden, func(name string) bool { return resolve(path.Clean(site.Workdir), name) == manifest })
	if at < 0 || !findsTests(string(site.Read(site.Hidden[at]))) {
		return Tripwire{}, false
	}
	pass, fail := marks(site.Nonce)
	pass, fail = "pass_"+pass, "fail_"+fail
	source := fmt.Sprintf("//! Two tests.\n\n#[test]\nfn %s() {}\n\n#[test]\nfn %s() {\n    panic!();\n}\n", pass, fail)
	return Tripwire{
		Files:    map[string]string{path.Join(in.dir, "tests", "zzz_"+mark(site.Nonce, "file")+".rs"): source},
		MustPass: containing(pass),
		MustFail: containing(fail),
		ExitCode: 101,
	}, true
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
