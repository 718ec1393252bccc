package steer

import (
	"strings"
	"testing"
)

func TestTheRunnersPartOfMixedSettingsIsTheImages(t *testing.T) {
	for _, c := range []struct {
		name, file, base, submitted string
		has                         []string // of the result, by blanks
		lacks                       []string
		same                        bool // nothing is changed
		bad                         bool // it is not taken
	}{
		{name: "dependencies", file: "pyproject.toml", base: "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts='-q'\n", submitted: "# mine\n[project]\nname='a'\ndependencies=['b']\n[tool.pytest.ini_options]\naddopts='-q'\n", same: true},
		{name: "deselection", file: "pyproject.toml", base: "[project]\nname='a'\n", submitted: "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts='-k nothing -p evil'\n", lacks: []string{"evil", "pytest"}},
		{name: "by dotted keys", file: "pyproject.toml", base: "", submitted: "tool.pytest.ini_options.addopts='-p evil'\n", lacks: []string{"evil"}},
		{name: "by an inline table", file: "pyproject.toml", base: "", submitted: "tool={pytest={ini_options={addopts='-p evil'}}}\n", lacks: []string{"evil"}},
		{name: "by quoted keys", file: "pyproject.toml", base: "", submitted: "[\"tool\".'pytest'.\"ini_options\"]\npythonpath=['evil']\n", lacks: []string{"evil"}},
		{name: "the form of pytest 9", file: "pyproject.toml", base: "[tool.pytest]\nminversion='9'\n", submitted: "[tool.pytest]\naddopts=['-p','evil']\n", has: []string{"'9'"}, lacks: []string{"evil"}},
		{name: "a plugin by an entry point", file: "pyproject.toml", base: "[project]\nname='a'\n", submitted: "[project]\nname='a'\n[project.entry-points.pytest11]\nevil='evil'\n[project.scripts]\na='a:main'\n", has: []string{"a:main"}, lacks: []string{"pytest11"}},
		{name: "a plugin by Poetry", file: "pyproject.toml", base: "", submitted: "[tool.poetry.plugins.pytest11]\nevil='evil'\n", lacks: []string{"evil"}},
		{name: "settings that are gone", file: "pyproject.toml", base: "[tool.pytest.ini_options]\naddopts='--strict'\n", submitted: "[project]\nname='a'\n", has: []string{"--strict", "'a'"}},
		{name: "new markers", file: "pyproject.toml", base: "[tool.pytest.ini_options]\naddopts='--strict'\n", submitted: "[tool.pytest.ini_options]\naddopts='-k x'\nmarkers=['slow']\nfilterwarnings=['error']\n", has: []string{"--strict", "slow", "filterwarnings"}, lacks: []string{"-k x"}},
		{name: "markers where the base has none", file: "pyproject.toml", base: "", submitted: "[tool.pytest.ini_options]\nmarkers=['slow']\n", lacks: []string{"ini_options"}},
		{name: "no TOML", file: "pyproject.toml", base: "", submitted: "[[[", bad: true},
		{name: "too much", file: "pyproject.toml", base: "", submitted: strings.Repeat("#", MaxMerged+1), bad: true},

		{name: "a test that is not run", file: "Cargo.toml", base: "[package]\nname='a'\n", submitted: "[package]\nname='a'\nautotests=false\n[[test]]\nname='t'\nharness=false\n[lib]\ntest=false\ndoctest=false\ncrate-type=['cdylib']\n", has: []string{"cdylib"}, lacks: []string{"autotests", "harness", "doctest"}},
		{name: "a library for tests", file: "m/Cargo.toml", base: "[dev-dependencies]\nassert_cmd='2'\n", submitted: "[dependencies]\nlibc='1'\n[dev-dependencies]\nassert_cmd={path='evil'}\nnew='1'\n", has: []string{"libc", "new", "'2'"}, lacks: []string{"evil"}},
		{name: "patches of crates", file: "Cargo.toml", base: "", submitted: "[patch.crates-io]\nserde={path='evil'}\n[workspace]\nmembers=['a']\nexclude=['tests']\n", has: []string{"members"}, lacks: []string{"evil", "exclude"}},
		{name: "dependencies of cargo", file: "Cargo.toml", base: "[package]\nname='a'\n", submitted: "[package]\nname='a'\n\n[dependencies] # mine\nlibc='1'\n[features]\nx=[]\n", same: true},

		{name: "settings of jest", file: "package.json", base: `{"name":"a","jest":{"verbose":true}}`, submitted: `{"name":"a","jest":{"testMatch":["none"],"reporters":["./evil"]},"dependencies":{"b":"1.0.0"}}`, has: []string{"verbose", "1.0.0"}, lacks: []string{"evil", "none"}},
		{name: "scripts of tests", file: "package.json", base: `{"scripts":{"test":"npm run unit && npm run lint","unit":"mocha","lint":"eslint ."}}`, submitted: `{"scripts":{"test":"true","unit":"true","pretest":"evil","posttest":"evil","preunit":"evil","build":"tsc"}}`, has: []string{"mocha", "tsc", "npm run unit"}, lacks: []string{"evil", `"true"`}},
		{name: "two keys of one name", file: "package.json", base: `{"mocha":{"spec":"test"}}`, submitted: `{"mocha":{"spec":"test"},"mocha":{"require":"./evil"}}`, has: []string{"spec"}, lacks: []string{"evil"}},
		{name: "settings of babel and of others", file: "a/package.json", base: "", submitted: `{"type":"module","babel":{"plugins":["./evil"]},"ava":{"require":["./evil"]},"tap":{"plugin":["./evil"]},"nyc":{"require":["./evil"]}}`, has: []string{"module"}, lacks: []string{"evil"}},
		{name: "numbers", file: "package.json", base: "{}", submitted: `{"a":12345678901234567890.10,"jest":{}}`, has: []string{"12345678901234567890.10"}, lacks: []string{"jest"}},
		{name: "dependencies of npm", file: "package.json", base: `{"scripts":{"test":"jest"}}`, submitted: `{ "scripts":{"test":"jest","build":"x"},"dependencies":{"b":"1"} }`, same: true},
		{name: "no JSON", file: "package.json", base: "{}", submitted: "{", bad: true},
		{name: "more than one value", file: "package.json", base: "{}", submitted: "{} {}", bad: true},

		{name: "dependencies of Go", file: "go.mod", base: "module a\n\ngo 1.22\n\nrequire (\n\tb.c/d v1.0.0\n)\n", submitted: "module a // mine\n\ngo 1.23\n\nrequire (\n\tb.c/d v1.1.0\n\te.f/g v1.0.0 // indirect\n)\n", same: true},
		{name: "a library in place of another", file: "go.mod", base: "module a\nrequire github.com/stretchr/testify v1.9.0\n", submitted: "module a\nrequire github.com/stretchr/testify v1.9.0\nreplace github.com/stretchr/testify => ./evil\n", has: []string{"testify v1.9.0"}, lacks: []string{"evil"}},
		{name: "in a block and in quotes", file: "go.mod", base: "module a\nrequire (\n\tb.c/d v1.0.0\n)\n", submitted: "module a\nrequire b.c/d v1.0.0\nreplace(\n\"b.c/d\" => `./evil`\n)\n", lacks: []string{"evil"}},
		{name: "a module of its own", file: "go.mod", base: "module a\n", submitted: "module a\nrequire a/tools v0.0.0\nreplace a/tools => ./tools\n", same: true},
		{name: "another name", file: "go.mod", base: "module a\n", submitted: "module evil\ngo 1.22\n", has: []string{"module a", "go 1.22"}, lacks: []string{"evil"}},
		{name: "folders that are hidden", file: "go.mod", base: "module a\n", submitted: "module a\nignore ./evil\n", lacks: []string{"evil"}},
		{name: "a replacement that was there", file: "go.mod", base: "module a\nreplace b.c/d => ../d\n", submitted: "module a\nreplace b.c/d => ./evil\nrequire x.y/z v1.0.0 // indirect\n", has: []string{"../d", "// indirect"}, lacks: []string{"evil"}},
		{name: "a module where there was none", file: "go.mod", submitted: "module mine\ngo 1.22\n", same: true},
		{name: "another file", file: "x.toml", base: "1", submitted: "2", same: true},
	} {
		var base []byte
		if c.base != "" {
			base = []byte(c.base)
		}
		got, ok := Merge(c.file, base, []byte(c.submitted))
		if ok == c.bad {
			t.Errorf("%s: taken: %t, want %t", c.name, ok, !c.bad)
			continue
		}
		if (string(got) == c.submitted) != c.same && !c.bad {
			t.Errorf("%s: unchanged: %t, want %t:\n%s", c.name, !c.same, c.same, got)
		}
		for _, part := range c.has {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s: %q is missing in\n%s", c.name, part, got)
			}
		}
		for _, part := range c.lacks {
			if strings.Contains(string(got), part) {
				t.Errorf("%s: %q is left in\n%s", c.name, part, got)
			}
		}
		if again, ok := Merge(c.file, base, got); !c.bad && (!ok || string(again) != string(got)) {
			t.Errorf("%s: merged again it is\n%s\nnot\n%s", c.name, again, got)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(0, "[tool.pytest.ini_options]\nmarkers=['a']\n", "tool.pytest=1\n")
	f.Add(1, `{"scripts":{"test":"a"}}`, `{"scripts":1}`)
	f.Add(2, "module a\n", "replace (\n")
	f.Add(3, "[[test]]\nname='a'\n", "test=1\npackage=2\n")
	f.Fuzz(func(t *testing.T, which int, base, submitted string) {
		names := []string{"pyproject.toml", "package.json", "go.mod", "Cargo.toml"}
		name := names[(which%len(names)+len(names))%len(names)]
		if once, ok := Merge(name, []byte(base), []byte(submitted)); ok {
			Merge(name, []byte(base), once) // nothing panics
		}
	})
}
