package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Kinds of content.
const (
	ContentFolder = "context" // a folder that is copied
	ContentFile   = "file"    // the text of file()
	ContentEnv    = "env"     // what env() gave
	ContentImport = "import"  // the tasks of a dataset
)

// Content is what a spec file takes from outside its text.
type Content struct {
	Kind   string
	Name   string // an absolute path, the name of the variable, or that of the dataset
	Digest string // hex SHA-256 of what it was
	Text   []byte `json:",omitempty"` // of a file or a variable
	Trace  string `json:",omitempty"` // how it lay in the file system before it was read; "" = it lies in none
}

func (s Content) key() string { return s.Kind + "\x00" + s.Name }

func digestOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Content is what the file took from outside its text, by kind and name. Of what an earlier
// version accepted, files and variables are not known.
func (c Compiled) Content() []Content {
	if c.Taken != nil {
		return c.Taken
	}
	return c.Blocks.clone().content(nil)
}

// content adds to what was read on the way the folders and datasets that the blocks name.
func (bs *Blocks) content(read []Content) []Content {
	all := slices.Clone(read)
	bs.trees(func(t *Tree, _ *Block, _ Pos) {
		all = append(all, Content{Kind: ContentFolder, Name: t.Path, Digest: t.Digest})
	})
	for _, b := range bs.Benchmarks {
		for _, i := range b.Imports {
			all = append(all, Content{Kind: ContentImport, Name: i.source(), Digest: i.digest()})
		}
	}
	slices.SortStableFunc(all, func(a, b Content) int { return cmp.Compare(a.key(), b.key()) })
	return slices.CompactFunc(all, func(a, b Content) bool { return a.key() == b.key() })
}

// source names the dataset.
func (i *Import) source() string {
	switch {
	case i.URL != "":
		return i.URL + "@" + i.Ref
	case i.Dataset != "":
		return i.Dataset + "@" + i.Revision
	}
	return i.Path
}

func (i *Import) digest() string {
	data, err := json.Marshal(i.Tasks)
	if err != nil {
		return "" // plain data always encodes
	}
	return digestOfText(data)
}

// Differs returns the names of the sources that both have and that have other content in the
// second, in order.
func Differs(was, now []Content) (names []string) {
	before := map[string]string{}
	for _, s := range was {
		before[s.key()] = s.Digest
	}
	for _, s := range now {
		if digest, ok := before[s.key()]; ok && digest != s.Digest {
			names = append(names, s.Name)
		}
	}
	return names
}

// Stirred reports whether a file or folder does not lie any more as it lay before it was read,
// and how it lies now. Of other content it is not known.
func (s Content) Stirred() (lay string, stirred bool) {
	if s.Trace == "" {
		return "", false
	}
	lay = layOf(s.Name)
	return lay, lay != s.Trace
}

// Lay is how a file, or all that is below a folder, lies in the file system: another one says that
// something was changed.
func Lay(path string) string { return layOf(path) }

// layOf is how a file, or all that is below a folder, lies in the file system. Change times
// are the kernel's, which nobody can set back.
func layOf(path string) string {
	sum := sha256.New()
	err := filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		fmt.Fprintf(sum, "%q %v\n", at, traceOf(at))
		return nil
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Repin compiles the text of a file with the content that it had before. What is new in the
// text is read now. It reports whether that can be done: the text has been checked before,
// with the content that there is now.
func Repin(in Input, was Compiled, o Options) (Compiled, bool) {
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	l := &loader{o: &o}
	f := newFile(in, &o)
	f.pinned = map[string]Content{}
	for _, s := range was.Content() {
		f.pinned[s.key()] = s
	}
	f.datasets = was.Blocks.clone()
	f.compile()
	if f.diags.HasErrors() {
		return Compiled{}, false
	}
	f.blocks.keepImported(f.datasets)
	sound := true
	f.blocks.trees(func(t *Tree, _ *Block, _ Pos) {
		if s, ok := f.pinned[Content{Kind: ContentFolder, Name: t.Path}.key()]; ok {
			t.Digest = s.Digest
			return
		}
		var err error
		t.Digest, err = l.digest(t.Path)
		sound = sound && err == nil
	})
	f.blocks.seal()
	sum := sha256.Sum256(in.Text)
	return Compiled{
		Path: in.Path, Root: in.Root, Named: in.Named, Hash: hex.EncodeToString(sum[:]), Blocks: f.blocks,
		Taken: f.blocks.content(f.sources), Outside: f.outside,
	}, sound
}

// TakeIn adds the imported tasks that are new, and reports whether there are any. What the
// file has already stays as it is.
func (c Compiled) TakeIn(now Compiled) (Compiled, bool) {
	c.Blocks = *c.Blocks.clone()
	more := false
	for i := range c.Blocks.Benchmarks {
		b := &c.Blocks.Benchmarks[i]
		b.Imports = slices.Clone(b.Imports)
		other := slices.IndexFunc(now.Blocks.Benchmarks, func(x Benchmark) bool { return x.Name == b.Name })
		if other < 0 {
			continue
		}
		for j := range b.Imports {
			for _, k := range now.Blocks.Benchmarks[other].Imports {
				if k.source() == b.Imports[j].source() && k.Format == b.Imports[j].Format {
					more = b.Imports[j].takeIn(k.Tasks) || more
				}
			}
		}
	}
	if more {
		c.Blocks.seal()
	}
	return c, more
}

func (i *Import) takeIn(tasks []Imported) (more bool) {
	i.Tasks = slices.Clone(i.Tasks)
	for _, t := range tasks {
		if !slices.ContainsFunc(i.Tasks, func(x Imported) bool { return x.Name == t.Name }) {
			i.Tasks, more = append(i.Tasks, t), true
		}
	}
	slices.SortFunc(i.Tasks, func(a, b Imported) int { return cmp.Compare(a.Name, b.Name) })
	return more
}

// With is the set with other versions of some files. Only what belongs to them by address is
// replaced, and only blocks for which takes holds.
func (s *Set) With(files []Compiled, o Options, takes func(Block) bool) *Set {
	out := *s
	out.Blocks = *s.Blocks.clone()
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	l := &loader{o: &o}
	for _, c := range files {
		blocks := c.Blocks.clone()
		blocks.each(func(b *Block, whole any) { l.markGaps(b, whole) })
		replace(out.Blocks.Benchmarks, blocks.Benchmarks, func(b *Benchmark) Block { return b.Block }, takes)
		replace(out.Blocks.Agents, blocks.Agents, func(a *Agent) Block { return a.Block }, takes)
		replace(out.Blocks.Runs, blocks.Runs, func(r *Run) Block { return r.Block }, takes)
	}
	return &out
}

func replace[T any](in, by []T, block func(*T) Block, takes func(Block) bool) {
	for i := range by {
		b := block(&by[i])
		at := slices.IndexFunc(in, func(x T) bool { return block(&x).Name == b.Name && block(&x).Path == b.Path })
		if at >= 0 && takes(b) {
			in[at] = by[i]
		}
	}
}
