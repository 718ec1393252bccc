package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepositoriesOfThisMachineStayBelowTheSpecs tries each way in which a spec, or what lies
// beside it, could name a repository of the machine that it may not read.
func TestRepositoriesOfThisMachineStayBelowTheSpecs(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	make := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, to string) {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, repo := range []string{"private/.git", "public/team/.git", "specs/own/.git", "specs/bare", "specs/linked", "specs/borrows", "specs/common", "specs/near"} {
		make(repo+"/HEAD", "ref: refs/heads/main\n")
		make(repo+"/objects/info/packs", "")
	}
	make("specs/file/.git", "gitdir: ../../private/.git\n")
	make("specs/beside/.git", "gitdir: ../own/.git\n")
	make("specs/borrows/objects/info/alternates", at("private/.git/objects")+"\n")
	make("specs/near/objects/info/alternates", "../../own/.git/objects\n")
	make("specs/common/commondir", "../../private/.git\n")
	link("specs/linked/objects/ab", at("private/.git/objects"))
	link("specs/out", at("private"))
	link("specs/gitlink/.git", at("private/.git"))
	link("specs/in", at("specs/own"))

	const refused = "not below the folder of the specs; to allow it, add its folder to repositories { allow_file = [...] } in assayd.hcl"
	for address, want := range map[string]string{
		"https://example.org/o/n":                   "",
		"ssh://git@example.org/o/n":                 "",
		"git@example.org:o/n":                       "",
		"file://" + at("specs/own"):                 "",
		"FILE://" + at("specs/bare"):                "",
		at("specs/in"):                              "",
		"file://" + at("specs/beside"):              "",
		"file://" + at("specs/near"):                "",
		"file://" + at("specs/nothing/yet"):         "",
		"file://" + at("public/team"):               "",
		"file://" + at("private"):                   refused,
		"File://" + at("private"):                   refused,
		at("private"):                               refused,
		"file://" + at("specs") + "/../private":     refused,
		"file://" + at("specs") + "/%2e%2e/private": refused,
		"file:/" + at("private"):                    refused, // what stands in place of a host is a folder
		"file:" + at("private"):                     "",      // as scp has it: a host of the name "file"
		"file://" + at("specs/out"):                 refused,
		"file://" + at("specs/file"):                refused,
		"file://" + at("specs/gitlink"):             refused,
		"file://" + at("specs/borrows"):             refused,
		"file://" + at("specs/common"):              refused,
		"file://" + at("specs/linked"):              refused,
		"file://" + at("public"):                    refused,
		"private":                                   "is no address of a repository",
		"../private":                                "is no address of a repository",
	} {
		for _, text := range []string{
			fmt.Sprintf("benchmark \"b\" {\n  task \"t\" {\n    image = \"i\"\n    repo {\n      url    = %q\n      commit = \"abc\"\n    }\n    judge { command = \"true\" }\n  }\n}\n", address),
			fmt.Sprintf("benchmark \"b\" {\n  import \"harbor\" {\n    url = %q\n  }\n}\n", address+"#dir=x"),
		} {
			imports := strings.Contains(text, "import")
			if imports && strings.Contains(want, "no address") {
				continue // how a dataset is fetched tells that
			}
			set := Load([]Input{{Path: at("specs/a.hcl"), Display: "a.hcl", Root: at("specs"), Text: []byte(text)}}, nil,
				Options{Settings: &Settings{Repositories: Repositories{AllowFile: []string{at("public/team"), at("absent")}}}})
			var told []string
			for _, d := range set.Diagnostics {
				if strings.Contains(d.Detail, address) {
					told = append(told, d.Detail)
				}
			}
			if got := strings.Join(told, "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
				t.Errorf("of %q it is said %q, want %q", address, got, want)
			}
		}
	}
}

func TestFoldersOfRepositoriesAreAbsolute(t *testing.T) {
	t.Parallel()
	s, ds := LoadSettings("assayd.hcl", []byte("repositories {\n  allow_file = [\"/srv/git\"]\n}\n"), Options{})
	if ds.HasErrors() || len(s.Repositories.AllowFile) != 1 {
		t.Errorf("%v: %v", s.Repositories, ds)
	}
	for _, dir := range []string{"git", "../git", "/srv/../git", ""} {
		_, ds := LoadSettings("assayd.hcl", fmt.Appendf(nil, "repositories {\n  allow_file = [%q]\n}\n", dir), Options{})
		if !ds.HasErrors() {
			t.Errorf("%q is accepted", dir)
		}
	}
}
