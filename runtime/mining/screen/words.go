package screen

import "strings"

// set makes a set of the words of a text.
func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}

// vendoringApple are the folders of CocoaPods and Carthage, as they write them: other projects have
// pods of their own.
var vendoringApple = set(`Pods Carthage`)

// Folders, in lower case.
var (
	vendoring = set(`vendor vendors vendored _vendor _vendored node_modules third_party third-party thirdparty 3rdparty
		bower_components jspm_packages godeps site-packages .venv .yarn`)
	testFolders = set(`test tests __tests__ __test__ __mocks__ __snapshots__ __fixtures__ testdata test-data test_data testsuite testsuites
		test-suite test_suite fixtures test-fixtures test_fixtures testfixtures e2e e2e-tests e2e_tests cypress
		integration-test integration-tests integration_test integration_tests integrationtest integrationtests
		functional-tests functional_tests unit-tests unit_tests unittest unittests acceptance-tests acceptance_tests
		regression-tests regression_tests testutil testutils test_util test_utils test-util test-utils
		testhelper testhelpers test_helper test_helpers test-helper test-helpers testsupport test_support test-support
		step_definitions androidtest smoke-tests smoke_tests`)
	specData    = set(`data support files cassettes samples assets factories dummy resources shared`)
	docFolders  = set(`docs doc documentation`)
	noteFolders = set(`changelog.d changelogs .changeset .changes newsfragments newsfragment release-notes releasenotes`)
)

// Files that belong to tests, and names without an ending of what helps them, in lower case.
var (
	testFiles = set(`conftest.py pytest.ini .rspec runtests.jl runtests.py testthat.r .nycrc`)
	testExts  = set(`feature phpt bats t tst`)
	helpers   = set(`testutil testutils test_util test_utils test-util test-utils testhelper testhelpers test_helper test_helpers
		test-helper test-helpers testsupport test_support spec_helper rails_helper`)
)

// Endings of names, in lower case.
var (
	code = set(`py pyi pyx pxd ipynb go js jsx mjs cjs ts tsx mts cts vue svelte coffee rs java kt kts groovy scala sc clj cljs cljc
		c h cc cpp cxx c++ hh hpp hxx m mm cu cuh cs fs fsx vb rb rake erb php phpt swift dart ex exs erl hrl hs lhs ml mli elm
		lua pl pm r jl nim zig cr d sh bash zsh fish bats ps1 sql proto graphql sol tf f f90 f95 pas asm s feature t tst v sv vhd`)
	specFolder = set(`js jsx mjs cjs ts tsx mts cts vue coffee rb rake erb php lua cr groovy feature`)
	specExt    = set(`js jsx mjs cjs ts tsx mts cts coffee rb lua cr php dart swift moon`)
	camel      = set(`java kt kts groovy scala cs fs vb php swift c cc cpp cxx h hpp m mm hs js jsx ts tsx dart`)
	camelOnly  = set(`java kt kts groovy scala cs`)
	camelSpec  = set(`groovy scala hs swift`)
	bundled    = set(`js cjs mjs css map html json txt ts`)
	prose      = set(`md mdx markdown mkd rst adoc asciidoc txt text tex org textile rdoc pod rtf`)
	pictures   = set(`svg png jpg jpeg gif ico webp bmp tiff avif drawio`)
	settings   = set(`yml yaml json json5 jsonc toml ini cfg conf properties xml csv tsv env plist editorconfig props targets nuspec
		tfvars po pot arb strings resx xlf xliff lock nix`)
	binary = set(`png jpg jpeg gif ico webp bmp tiff avif pdf zip gz tgz bz2 xz zst 7z rar tar jar war class so dll exe dylib a o obj lib
		woff woff2 ttf eot otf mp3 mp4 m4a wav ogg webm mov avi bin dat sqlite sqlite3 db pyc whl egg parquet npy npz pkl pickle h5
		wasm keystore jks p12 pfx der psd sketch xlsx xls docx doc pptx ppt onnx pt pth model gem deb rpm dmg apk`)
)

// locks are the files in which package managers keep what they have settled on.
var locks = set(`package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock go.sum go.work.sum
	cargo.lock poetry.lock pipfile.lock pdm.lock uv.lock pixi.lock pylock.toml conda-lock.yml gemfile.lock gems.locked composer.lock mix.lock
	pubspec.lock podfile.lock package.resolved packages.lock.json gradle.lockfile buildscript-gradle.lockfile flake.lock
	.terraform.lock.hcl module.bazel.lock cabal.project.freeze stack.yaml.lock conan.lock cartfile.resolved paket.lock renv.lock
	chart.lock rebar.lock requirements.lock`)

// languages are those of sources, by the ending of a name; what is in more than one is in
// none.
var languages = map[string]string{
	"py": "python", "pyi": "python", "pyx": "cython", "go": "go", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript",
	"ts": "typescript", "tsx": "typescript", "mts": "typescript", "cts": "typescript", "rs": "rust", "java": "java", "kt": "kotlin", "kts": "kotlin",
	"scala": "scala", "groovy": "groovy", "clj": "clojure", "c": "c", "cc": "c++", "cpp": "c++", "cxx": "c++", "hpp": "c++", "cs": "c#", "fs": "f#",
	"rb": "ruby", "php": "php", "swift": "swift", "dart": "dart", "ex": "elixir", "exs": "elixir", "erl": "erlang", "hs": "haskell", "ml": "ocaml",
	"lua": "lua", "jl": "julia", "zig": "zig", "nim": "nim", "cr": "crystal", "sh": "shell", "vue": "vue", "svelte": "svelte", "sol": "solidity",
}

// alias are other words for languages as GitHub calls them, in lower case.
var alias = map[string]string{
	"golang": "go", "js": "javascript", "ts": "typescript", "py": "python", "python3": "python", "rs": "rust", "rb": "ruby", "kt": "kotlin",
	"cpp": "c++", "cxx": "c++", "cplusplus": "c++", "csharp": "c#", "c-sharp": "c#", "cs": "c#", "fsharp": "f#", "objective c": "objective-c", "objc": "objective-c",
	"bash": "shell", "sh": "shell", "node": "javascript", "nodejs": "javascript", "node.js": "javascript",
}

// lingo is the name of a language in lower case and without another word for it.
func lingo(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if known, ok := alias[name]; ok {
		return known
	}
	return name
}
