package screen

import (
	"path"
	"regexp"
	"strings"
)

// Kind is what a file is to a pull request.
type Kind string

// The kinds of files.
const (
	Source    Kind = "source"
	Test      Kind = "test"      // code that tests, and what only configures tests
	Fixture   Kind = "fixture"   // data of tests
	Docs      Kind = "docs"      // text and pictures for people
	Config    Kind = "config"    // settings, manifests, recipes, tables of data
	Generated Kind = "generated" // written by a program
	Vendored  Kind = "vendored"  // copied from another project
	Lock      Kind = "lock"      // the versions that a package manager has settled on
	Binary    Kind = "binary"    // no text, as its name has it
)

// IsTest reports whether a file belongs to the tests: their code, their data, or what only
// they need. Names are relative to the root of the repository, with slashes.
func IsTest(name string) bool {
	kind := KindOf(name)
	return kind == Test || kind == Fixture
}

// KindOf says what a file is by its name alone. What is known to be nothing else is source.
func KindOf(name string) Kind {
	dirs, base := split(name)
	f := file{dirs: dirs, base: base, lower: strings.ToLower(base)}
	f.ext = strings.TrimPrefix(path.Ext(f.lower), ".")
	f.stem = strings.TrimSuffix(f.lower, path.Ext(f.lower))
	switch kind := f.byFolder(); {
	case kind != "":
		return kind
	case f.isLock():
		return Lock
	case f.isGenerated():
		return Generated
	case f.isTest():
		return Test
	case f.isData():
		return Fixture
	case binary[f.ext] && !pictures[f.ext]:
		return Binary
	case f.isDocs():
		return Docs
	case f.isConfig():
		return Config
	}
	return Source
}

// file is a name taken apart. ext and stem are of the name in lower case.
type file struct {
	dirs                   []string
	base, lower, stem, ext string
}

func split(name string) (dirs []string, base string) {
	parts := strings.Split(name, "/")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// byFolder decides by the first folder from the root that says something: a vendored project
// may have tests, and tests may have projects as data. "" = none does.
func (f *file) byFolder() Kind {
	main := f.below("src", "main")
	for i, dir := range f.dirs {
		lower := strings.ToLower(dir)
		switch {
		case vendoring[lower], vendoringApple[dir]:
			return Vendored
		case noteFolders[lower]:
			return Docs
		case lower == "__generated__", lower == "dist" && bundled[f.ext]:
			return Generated
		case testFolders[lower] && !main, f.isSpecs(lower, i), isSuite(dir):
			if f.isCode() {
				return Test
			}
			return Fixture
		}
	}
	return ""
}

// below reports whether two folders stand one in the other above the file.
func (f *file) below(outer, inner string) bool {
	for i := range len(f.dirs) - 1 {
		if f.dirs[i] == outer && f.dirs[i+1] == inner {
			return true
		}
	}
	return false
}

// isSpecs reports whether a folder called spec holds tests: for some languages it does, for
// others it is a package, and text in it is a specification. Data of tests lies deeper.
func (f *file) isSpecs(dir string, at int) bool {
	switch {
	case dir != "spec" && dir != "specs":
		return false
	case f.isCode():
		return specFolder[f.ext]
	}
	return dir == "spec" && at < len(f.dirs)-1 && specData[strings.ToLower(f.dirs[at+1])]
}

// suite is a project or a folder named after what it tests: "Shop.Tests", "ShopTests",
// "commonTest".
var suite = regexp.MustCompile(`^.*[a-zA-Z0-9]\.(Unit|Integration|Functional)?(Tests?|Specs)$|^[A-Z].*[a-z0-9](Tests|UITests)$|^(android|common|jvm|js|native|integration|unit|functional|acceptance)Test$`)

func isSuite(dir string) bool { return suite.MatchString(dir) }

func (f *file) isCode() bool { return code[f.ext] }

func (f *file) isLock() bool {
	return locks[f.lower] || strings.HasSuffix(f.lower, ".lockfile")
}

// Names that programs give to what they write.
var (
	generatedEnd = regexp.MustCompile(`(\.pb\.go|\.pb\.gw\.go|_pb2(_grpc)?\.pyi?|\.pb\.(cc|h)|_pb\.(js|d\.ts|rb)|\.g\.(dart|cs)|\.freezed\.dart|\.designer\.cs|\.min\.(js|css)|\.(js|css|mjs|cjs)\.map|\.tsbuildinfo|\.deepcopy\.go|_easyjson\.go|[._-](generated|gen)\.[a-z0-9]+|\.generated|\.tab\.[ch])$`)
	generatedAny = regexp.MustCompile(`^(zz_generated\..*|bindata\.go|wire_gen\.go|\.pnp\.(c?js|loader\.mjs)|aclocal\.m4|.*\.autogen\..*)$`)
)

func (f *file) isGenerated() bool {
	return generatedEnd.MatchString(f.lower) || generatedAny.MatchString(f.lower)
}

// isTest decides by the name of the file alone.
func (f *file) isTest() bool {
	switch {
	case testFiles[f.lower], testExts[f.ext], testConfig.MatchString(f.lower):
		return true
	case !f.isCode():
		return false
	case f.ext == "go":
		return strings.HasSuffix(f.lower, "_test.go") || helpers[f.stem]
	case f.below("src", "main"):
		return false
	}
	return helpers[f.stem] || f.isTestByWord() || f.isTestByCamel()
}

// isTestByWord knows "test_x.py", "x_test.rs", "x.spec.ts", "x-test.js" and "tests.py".
func (f *file) isTestByWord() bool {
	stem := strings.TrimSuffix(f.stem, ".d") // "x.test.d.ts"
	if testFirst.MatchString(stem) && !camelOnly[f.ext] || testLast.MatchString(stem) {
		return true
	}
	return specExt[f.ext] && specLast.MatchString(stem)
}

// isTestByCamel knows "CartTest.java", "TestCart.java", "CartIT.java", "CartSpec.scala".
func (f *file) isTestByCamel() bool {
	if !camel[f.ext] {
		return false
	}
	stem := f.base[:len(f.stem)]
	return camelLast.MatchString(stem) || camelOnly[f.ext] && camelFirst.MatchString(stem) || camelSpec[f.ext] && camelSpecLast.MatchString(stem)
}

var (
	testFirst     = regexp.MustCompile(`^tests?[_-]`)
	testLast      = regexp.MustCompile(`(^|[._-])(tests?|unittests?|e2e|e2e-spec|cy|test-d|tst)$`)
	specLast      = regexp.MustCompile(`(^|[._-])specs?$`)
	camelLast     = regexp.MustCompile(`[A-Za-z0-9_](Tests?|TestCase|TestSuite|ITCase|Cest|Cept)$|[a-z0-9_]IT$|^Tests?$`)
	camelFirst    = regexp.MustCompile(`^Test[A-Z0-9]`)
	camelSpecLast = regexp.MustCompile(`[a-z0-9_](Specs?|Suite)$`)
	testConfig    = regexp.MustCompile(`^(jest|vitest|karma|playwright|cypress|ava|wdio)([.-](base|config|conf|setup|unit|e2e|integration|workspace|preset|environment))+\.[a-z]+$|^\.mocharc(\..*)?$|^phpunit(\..*)?\.xml(\.dist)?$`)
)

// isData knows data of tests that lies elsewhere.
func (f *file) isData() bool { return f.ext == "snap" || f.ext == "golden" || f.ext == "approved" }

func (f *file) isDocs() bool {
	switch {
	case prose[f.ext] && !manifests.MatchString(f.lower), pictures[f.ext]:
		return true
	case len(f.dirs) > 0 && docFolders[strings.ToLower(f.dirs[0])]:
		return true
	}
	return (f.ext == "" || f.base == strings.ToUpper(f.base)) && docFiles.MatchString(f.lower)
}

var docFiles = regexp.MustCompile(`^(readme|changelog|changes|history|news|licen[cs]e|copying|notice|authors|contributors|contributing|codeowners|code_of_conduct|security|maintainers|credits|thanks|todo|install|upgrading)([.-].*)?$`)

func (f *file) isConfig() bool {
	switch {
	case settings[f.ext], manifests.MatchString(f.lower):
		return true
	case strings.HasPrefix(f.lower, ".") && (!f.isCode() || strings.HasSuffix(f.stem, "rc")):
		return true
	case toolConfig.MatchString(f.lower) && (len(f.dirs) == 0 || !f.below("src", "main")):
		return true
	}
	return len(f.dirs) > 0 && strings.HasPrefix(f.dirs[0], ".")
}

// manifests are files that say what a project needs and how it is built.
var manifests = regexp.MustCompile(`^(.*requirements.*\.(txt|in)|constraints.*\.txt|setup\.py|pipfile|go\.(mod|work)|.*\.gemspec|gemfile|build\.gradle(\.kts)?|settings\.gradle(\.kts)?|cmakelists\.txt|meson(_options)?\.(build|txt|options)|build\.bazel|build|workspace(\.bazel)?|module\.bazel|.*\.(cs|fs|vb)proj|.*\.sln|.*\.sbt|mix\.exs|package\.swift|gnu?makefile|makefile(\..*)?|.*\.mk|dockerfile(\..*)?|.*\.dockerfile|containerfile|jenkinsfile|procfile|vagrantfile|justfile|rakefile|brewfile|manifest\.in|conanfile\.(py|txt)|noxfile\.py)$`)

// toolConfig are settings of tools that happen to be programs.
var toolConfig = regexp.MustCompile(`^(webpack|rollup|vite|babel|eslint|prettier|postcss|tailwind|next|nuxt|svelte|tsup|commitlint|lint-staged|metro|esbuild|rspack|astro|vue|stylelint|release)\.config(\.[a-z]+)?\.[cm]?[jt]s$|^(gulpfile|gruntfile)(\.babel)?\.[cm]?[jt]s$`)
