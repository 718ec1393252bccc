package sanitize

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/steer"
)

// Own is what a submission leaves to the judge image beside what is hidden there: what tools
// make of other files, what steers runners, and the folders of tests.
type Own struct {
	// Runners are the parsers whose runners the judge starts.
	Runners []string
	// Kept are globs of what steers them.
	Kept []string
	// Folders are those of hidden tests, with all that is in them.
	Folders []string
	// Free are files that can be submitted all the same, where nothing else forbids it: the
	// solution is made of them.
	Free []string
	// Marks are the files of the judge image by which folders are known: manifests and the like.
	Marks map[string]bool
	// Settings are the mixed settings files of the judge image.
	Settings map[string][]byte
	// Caches are folders below workdir that the environment names as a tool's cache.
	Caches []string
	// Python are folders below workdir from which Python imports, beside the usual ones.
	Python []string
}

// ownership is Own made ready for questions of a rulebook.
type ownership struct {
	own     Own
	book    *Rulebook
	derived patterns
	kept    patterns
	trees   map[string]patterns // of the folders in which tools build: what is beside them
	folders map[string]bool
	free    map[string]bool
	asked   []string // roots that are derived themselves: somebody wants just them
	mixed   []string
	stems   map[string]bool // hidden modules, without their endings
	top     map[string]bool // folders from which Python imports
	built   bool            // the image has a build of Java
	around  map[string]bool // folders with a package of Rust below them
	added   map[string]bool // marks that the archive brings
}

func newOwnership(own *Own, b *Rulebook) (*ownership, error) {
	if own == nil {
		return nil, nil
	}
	o := &ownership{own: *own, book: b, trees: map[string]patterns{}, folders: map[string]bool{}, free: map[string]bool{}, added: map[string]bool{}}
	var err error
	if o.derived, err = compile(steer.Derived()); err != nil {
		return nil, fmt.Errorf("derived files: %w", err)
	}
	if o.kept, err = compile(own.Kept); err != nil {
		return nil, fmt.Errorf("settings of runners: %w", err)
	}
	for folder, beside := range steer.Trees() {
		if o.trees[folder], err = compile(beside); err != nil {
			return nil, fmt.Errorf("folders of builds: %w", err)
		}
	}
	for _, name := range slices.Concat(own.Folders, own.Caches) {
		o.folders[path.Clean(name)] = true
	}
	for _, name := range own.Free {
		for up := range Upwards(path.Clean(name)) {
			o.free[up] = true
		}
	}
	for _, runner := range own.Runners {
		o.mixed = append(o.mixed, steer.Mixed(runner)...)
	}
	for _, root := range b.filter.roots {
		for up := range Upwards(root) {
			if o.derives(up) {
				o.asked = append(o.asked, root)
				break
			}
		}
	}
	o.look(own)
	return o, nil
}

// look finds the modules that are hidden, and where such are imported from.
func (o *ownership) look(own *Own) {
	o.stems, o.top = map[string]bool{}, map[string]bool{".": true, "src": true, "lib": true, "python": true}
	for _, dir := range own.Python {
		o.top[path.Clean(dir)] = true
	}
	o.around = map[string]bool{}
	for name := range own.Marks {
		o.built = o.built || slices.Contains(steer.BuildFiles(), path.Base(name))
		if path.Base(name) == "Cargo.toml" {
			o.around["."] = true
			for up := range Upwards(path.Dir(name)) {
				o.around[up] = true
			}
		}
	}
	for name := range o.book.hidden {
		switch ext := path.Ext(name); {
		case ext == ".py":
			if dir := path.Dir(name); !o.there(path.Join(dir, "__init__.py")) {
				o.top[dir] = true
			}
			o.stems[strings.TrimSuffix(name, ext)] = true
		case slices.Contains(scripts(), ext):
			o.stems[strings.TrimSuffix(name, ext)] = true
		}
	}
}

// frees reports whether a path can be submitted although it lies in a folder of the judge's.
func (o *ownership) frees(name string) bool { return o != nil && o.free[name] }

// holds reports whether this very path is the judge image's, whether it is there or not.
func (o *ownership) holds(name string) bool {
	if o == nil {
		return false
	}
	for _, root := range o.asked {
		if name == root || strings.HasPrefix(name, root+"/") || strings.HasPrefix(root, name+"/") {
			return o.folders[name] || o.kept.exactly(name)
		}
	}
	return o.folders[name] || o.kept.exactly(name) || o.derives(name) || o.installs(name) || o.hides(name) || o.shadows(name) || o.builds(name)
}

// derives reports whether the path is something that a tool makes of other files.
func (o *ownership) derives(name string) bool {
	if o.derived.exactly(name) {
		return true
	}
	dir, base := path.Dir(name), path.Base(name)
	if up := path.Base(dir); up == "build" && dir != "." {
		for folder, beside := range o.trees {
			if inner, ok := strings.CutPrefix(folder, "build/"); ok && matches(inner, base) && o.anyIn(path.Dir(dir), beside) {
				return true
			}
		}
	}
	if beside := o.trees[base]; beside != nil && o.anyIn(dir, beside) {
		return true
	}
	// A folder with a mark in it is one of a build, unless it has sources of a build too.
	return o.marked(name) && !o.own.Marks[path.Join(name, "CMakeLists.txt")]
}

func matches(glob, base string) bool {
	begin, open := strings.CutSuffix(glob, "*")
	return base == glob || open && strings.HasPrefix(base, begin)
}

func (o *ownership) marked(dir string) bool {
	return slices.ContainsFunc(steer.Built(), func(mark string) bool { return o.has(path.Join(dir, mark)) })
}

// has reports whether the image, or the archive, has a file of the marks.
func (o *ownership) has(name string) bool { return o.own.Marks[name] || o.added[name] }

func (o *ownership) anyIn(dir string, names patterns) bool {
	return slices.ContainsFunc(names, func(p pattern) bool { return o.has(path.Join(dir, p.glob)) })
}

// there reports whether the image has anything at a path.
func (o *ownership) there(name string) bool {
	_, present := o.book.present[name]
	_, linked := o.book.links[name]
	return present || linked || o.book.hidden[name] || o.book.holders[name] || o.own.Marks[name]
}

// installs reports whether the path is that of an installed package which the image has, or
// which would be found before one that it has.
func (o *ownership) installs(name string) bool {
	dir, base := path.Dir(name), path.Base(name)
	if strings.HasPrefix(path.Base(dir), "@") { // a scope
		dir, base = path.Dir(dir), path.Join(path.Base(dir), base)
	}
	if base == "vendor" && o.runs("gotest") && o.own.Marks[path.Join(dir, "go.mod")] {
		return !o.own.Marks[path.Join(dir, "vendor/modules.txt")]
	}
	if path.Base(dir) != "node_modules" || strings.HasPrefix(path.Base(name), "@") {
		return false
	}
	for up := path.Dir(dir); ; up = path.Dir(up) {
		if o.there(path.Join(up, "node_modules", base)) {
			return true
		}
		if up == "." {
			return false
		}
	}
}

func (o *ownership) runs(parser string) bool { return slices.Contains(o.own.Runners, parser) }

// hides reports whether the path is a new manifest that would take a folder of the image out
// of the package that it is in.
func (o *ownership) hides(name string) bool {
	dir, base := path.Dir(name), path.Base(name)
	if !slices.Contains(steer.Manifests(), base) || !slices.Contains(o.mixed, base) || o.own.Marks[name] {
		return false
	}
	if dir != "." && !o.there(dir) {
		return false // all of the folder is new
	}
	if base == "package.json" && !o.book.holders[dir] {
		return false
	}
	for up := dir; up != "."; {
		if up = path.Dir(up); o.own.Marks[path.Join(up, base)] {
			return true
		}
	}
	return base == "Cargo.toml" && o.around[dir] // a workspace that would be around a package
}

// scripts are endings of modules of JavaScript.
func scripts() []string {
	return []string{".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".node"}
}

// shadows reports whether the path is new and would be imported in place of a hidden module or
// of a part of the runner.
func (o *ownership) shadows(name string) bool {
	dir, base := path.Dir(name), path.Base(name)
	stem, end, _ := strings.Cut(base, ".")
	python := end == "" || end == "py" || end == "pyi" || strings.HasSuffix(end, "so") || strings.HasSuffix(end, "pyd")
	if python && stem != "" && o.top[dir] && (o.runs("pytest") || o.runs("unittest") || o.runs("django")) && steer.Shadowed(stem) {
		return !o.there(name)
	}
	full := path.Join(dir, stem)
	if end == "" || strings.HasSuffix(end, "so") || strings.HasSuffix(end, "pyd") {
		return o.stems[full] && !o.there(name)
	}
	ext := path.Ext(base)
	return slices.Contains(scripts(), ext) && o.stems[strings.TrimSuffix(name, ext)] && !o.there(name)
}

// builds reports whether the path is a file by which the image is built and tested.
func (o *ownership) builds(name string) bool {
	dir, base := path.Dir(name), path.Base(name)
	switch {
	case base == "GNUmakefile" || base == "makefile":
		return !o.own.Marks[name] && (o.own.Marks[path.Join(dir, "Makefile")] || o.own.Marks[path.Join(dir, "makefile")])
	case !o.runs("junit") || !slices.Contains(steer.BuildFiles(), base):
		return false
	case o.own.Marks[name]:
		return true
	}
	return o.built && (dir == "." || o.there(dir))
}

// Mark reports whether folders are known by files of that name.
func Mark(name string) bool {
	base := path.Base(name)
	if strings.Contains(name, "node_modules/") {
		return false // there are thousands, and installed packages are the image's as a whole
	}
	return slices.Contains(steer.Manifests(), base) || slices.Contains(steer.Built(), base) || slices.Contains(steer.BuildFiles(), base) ||
		slices.Contains([]string{"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "setup.py", "setup.cfg", "pyproject.toml"}, base) ||
		base == "modules.txt" && path.Base(path.Dir(name)) == "vendor"
}

// MaxMixed is how many settings files of an image are kept. What is beyond it stays as the image
// has it.
const MaxMixed = 2000
