package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Input is one spec file as it was found.
type Input struct {
	Path    string // absolute
	Display string // as shown in diagnostics; stable, best relative to the root
	Root    string // folder that paths of the spec may not leave; "" = the file's own
	Named   bool   // an operator handed this file in: its paths may lead anywhere
	Text    []byte
	// Changed is when the file last changed, by the clock of its file system; zero = of no
	// interest, as with a file that somebody named.
	Changed time.Time

	// Unknown says why the file could not be read. It keeps what was accepted before.
	Unknown string
	// Refused says why the file as it is cannot be a spec, too large for instance. That is
	// an error like one in its text.
	Refused string
	// Kept says that the file is not looked at: what was accepted of it stays, without a
	// word, as far as no other file declares it.
	Kept bool
	// Gone says that a file that was named is not there; Load is not to be given it.
	Gone bool
}

// ErrPending is what Options.Snapshot returns for a folder of which a copy is being made elsewhere.
var ErrPending = errors.New("the folder is being copied")

// Previous is what was last accepted, by path. It survives encoding/json.
type Previous = map[string]Compiled

// Compiled is what was accepted of one file.
type Compiled struct {
	Path   string
	Root   string
	Named  bool   `json:",omitempty"`
	Hash   string // SHA-256 of the text
	Blocks Blocks
	// Outside are the paths that lead out of Root. They are compiled again where they no longer may.
	Outside []string `json:",omitempty"`
	// Taken is what it took from outside its text; nil = not known.
	Taken []Content `json:",omitempty"`
}

// Host is what the machine has that containers run on; zero = not known, not checked.
type Host struct {
	CPUs   float64
	Memory int64 // bytes
	Disk   int64 // bytes
}

// Options are what Load needs to know beyond the files.
type Options struct {
	Env      func(name string) (string, bool) // env(name); nil = nothing is set
	Secret   func(name string) (string, bool) // asked for presence only; nil = none exists
	Snapshot func(dir string) (string, error) // copies a folder, returns its digest, or ErrPending; nil = digest only
	// Copied tells how a folder lay before the copy was made that Snapshot returns; nil = it is made when
	// it is asked for.
	Copied   func(dir string) (lay string)
	Settings *Settings // nil = DefaultSettings
	Host     Host
	Parsers  []string // names that exist in this version; nil = all of the language
	// Engines are those that this version has, by name. What the language itself says of one holds over what
	// stands here. nil = Docker.
	Engines map[string]EngineKind
	// Import reads a dataset, which may not be there yet. It selects by name itself, and what
	// it cannot use is a problem beside the rest. nil = nothing is read.
	Import func(Import) ([]Imported, []Problem)
	// Target says what is wrong with an entry of a network list, to who enforces it; nil = its
	// form alone is looked at.
	Target func(string) error
	// Formats are those that Import understands; nil = all of the language.
	Formats []string
	// Mined are the tasks that mining specs have made; nil = none.
	Mined *Mined
	// Fresh tells which files are compiled, and their contexts copied, anew although their
	// text has not changed; nil = none.
	Fresh func(path string) bool
	// Watched are the folders that specs are found in. What mining writes may not lie there,
	// except below the folder of its own spec.
	Watched []string
	// Checkout is the folder of the Git repository that specs come from. Their paths may not leave
	// it, whatever the settings allow. "" = there is none.
	Checkout string

	long *[]string // what longSecrets returns
}

// longSecrets are the secrets of the settings that are looked for inside texts. Ten thousand files
// of one look ask for them.
func (o *Options) longSecrets() []string {
	if o.long == nil {
		var texts []string
		if o.Settings != nil {
			texts = slices.DeleteFunc(o.Settings.Secrets(o.Secret), func(s string) bool { return len(s) < longSecret })
		}
		o.long = &texts
	}
	return *o.long
}

// Status of a file.
type Status string

// A file is ok, frozen at what was accepted before, rejected with nothing to fall back on,
// or unknown because it could not be read or was not looked at.
const (
	OK       Status = "ok"
	Frozen   Status = "frozen"
	Rejected Status = "rejected"
	Unread   Status = "unknown"
)

// Statuses are all of them.
func Statuses() []Status { return []Status{OK, Frozen, Rejected, Unread} }

// FileState is what became of one input.
type FileState struct {
	Path        string
	Root        string
	Display     string
	Status      Status
	Hash        string // of the present text
	Generation  string // short hash of the blocks it contributes
	Diagnostics Diagnostics
}

// Load compiles the files. A file with an error, or with a reference to nothing, is frozen
// at what was accepted of it before; the others are taken as they are. All complaints come
// at once. The same arguments and folders give the same set.
func Load(inputs []Input, prev Previous, o Options) *Set {
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	l := &loader{o: &o}
	inputs = slices.Clone(inputs)
	slices.SortStableFunc(inputs, func(a, b Input) int { return cmp.Compare(a.Path, b.Path) })
	inputs = slices.CompactFunc(inputs, func(a, b Input) bool { return a.Path == b.Path })
	for _, in := range inputs {
		last, ok := prev[in.Path]
		l.units = append(l.units, l.read(in, last, ok))
	}
	l.duplicates()
	l.review()
	l.settle()
	if !l.snapshot() {
		l.settle()
	}
	return l.set()
}

// loader is one Load under way.
type loader struct {
	o     *Options
	units []*unit // by path
}

// unit is one file: what it says now, and what it falls back on.
type unit struct {
	in       Input
	hash     string
	next     *Blocks // nil: frozen
	text     *Blocks // what the text says, right or wrong; nil: it could not be read through
	last     *Blocks // nil: nothing was accepted
	lastHash string
	read     []Content // with next: what was read from outside the text
	lastRead []Content // the same of last
	out      []string  // with next: the paths that lead out of the root
	lastOut  []string  // the same of last
	headers  []header
	compiled bool // next was made from the text, not taken over from last
	errors   Diagnostics
	checks   Diagnostics // of the last round of settle
}

// read compiles one file, or takes over what was made of the same text.
func (l *loader) read(in Input, last Compiled, ok bool) *unit {
	u := &unit{in: in}
	if ok {
		u.last, u.lastHash, u.lastRead, u.lastOut = last.Blocks.clone(), last.Hash, last.Taken, last.Outside
	}
	if ok && (in.Kept || in.Unknown != "") {
		u.in.Named = last.Named
	}
	if in.Kept {
		return u
	}
	if in.Unknown != "" {
		u.errors = Diagnostics{{Severity: Warning, Summary: "File not readable", Detail: in.Unknown + ". The specs that were accepted before stay.", File: in.Display, Path: in.Path}}
		return u
	}
	sum := sha256.Sum256(in.Text)
	u.hash = hex.EncodeToString(sum[:])
	if ok && in.Refused == "" && last.Hash == u.hash && last.holds(in, l.o) && !u.last.pending() && (l.o.Fresh == nil || !l.o.Fresh(in.Path)) {
		u.next, u.text, u.headers, u.read, u.out = u.last, u.last, u.last.headers(), u.lastRead, u.lastOut
		return u
	}
	f := newFile(in, l.o)
	f.fresh = !ok || last.Hash != u.hash
	f.compile()
	u.headers, u.errors = f.headers, f.diags
	if u.last != nil {
		f.blocks.keepImported(u.last)
	}
	if f.sound {
		u.text = &f.blocks
	}
	if !f.diags.HasErrors() {
		u.next, u.compiled, u.read, u.out = u.text, true, f.sources, f.outside
		u.next.trees(func(t *Tree, _ *Block, _ Pos) {
			u.read = append(u.read, Content{Kind: ContentFolder, Name: t.Path, Trace: layOf(t.Path)})
		})
	}
	return u
}

// freeze gives up what the file says now.
func (u *unit) freeze(why Diagnostics) {
	u.errors = append(u.errors, why...)
	u.next = nil
}

// complaint is about a place of a block of the present text.
func (u *unit) complaint(b *Block, at Pos, summary, detail string) Diagnostic {
	d := gap{what: summary}.warning(at, detail)
	d.Severity, d.Summary = Error, summary
	return u.placed(b, d)
}

func (u *unit) placed(b *Block, d Diagnostic) Diagnostic {
	d.File, d.Path, d.Context = u.in.Display, u.in.Path, fmt.Sprintf("%s %q", b.Kind, b.Name)
	d.Byte = lineOffset(u.in.Text, d.Line) + max(d.Column-1, 0)
	d.End.Byte, d.Snippet = d.Byte, snippet(u.in.Text, d.Line)
	return d
}

// lineOffset returns where a numbered line begins.
func lineOffset(text []byte, line int) int {
	offset := 0
	for range line - 1 {
		n := bytes.IndexByte(text[offset:], '\n')
		if n < 0 {
			return offset
		}
		offset += n + 1
	}
	return offset
}

// duplicates freezes the files that declare what another one declares, too. A file that is the copy of
// another has one complaint, at the first of the blocks.
func (l *loader) duplicates() {
	type declaration struct {
		unit *unit
		pos  Pos
	}
	type pair struct{ unit, other *unit }
	seen := map[string][]declaration{}
	for _, u := range l.units {
		for _, h := range u.headers {
			seen[h.address] = append(seen[h.address], declaration{u, h.pos})
		}
	}
	twice := map[pair][]string{} // addresses
	at := map[pair][2]Pos{}      // of the first of them, in both
	var pairs []pair
	for _, u := range l.units {
		for _, h := range u.headers {
			all := seen[h.address]
			i := slices.IndexFunc(all, func(d declaration) bool { return d.unit != u })
			if i < 0 {
				continue
			}
			p := pair{u, all[i].unit}
			if twice[p] = append(twice[p], h.address); len(twice[p]) == 1 {
				pairs = append(pairs, p)
				at[p] = [2]Pos{h.pos, all[i].pos}
			}
		}
	}
	for _, p := range pairs {
		addresses := twice[p]
		kind, name, _ := splitAddress(addresses[0])
		detail := fmt.Sprintf("%s is declared at %s, too. Neither file is accepted: rename one of the two, or remove it.", addresses[0], at[p][1])
		if len(addresses) > 1 {
			detail = fmt.Sprintf("%s is declared at %s, too. Both files also declare %s. Neither is accepted: if one is a copy of the other, remove it, or rename what it declares.",
				addresses[0], at[p][1], someOf(addresses[1:]))
		}
		p.unit.freeze(Diagnostics{p.unit.complaint(&Block{Kind: kind, Name: name}, at[p][0], "Duplicate name", detail)})
	}
}

// someOf lists names, the first five of many.
func someOf(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// review checks what the files with errors say besides, so that everything is told at
// once. Whatever any file declares counts as there: that its file is wrong is told there.
func (l *loader) review() {
	written := l.asWritten()
	for _, u := range l.units {
		if u.next == nil && u.text != nil {
			u.errors = append(u.errors, l.check(u, u.text, written)...)
		}
	}
}

// settle freezes files whose blocks do not hold in what is then in force, until no more do.
func (l *loader) settle() {
	for changed := true; changed; {
		changed = false
		force := l.inForce()
		for _, u := range l.units {
			u.checks = nil
			if u.next != nil {
				u.checks = l.check(u, u.next, force)
			}
		}
		for _, u := range l.units {
			if u.checks.HasErrors() {
				u.freeze(u.checks)
				changed = true
			}
		}
	}
}

// snapshot copies the folders that newly accepted blocks name and fixes the generations.
// It reports whether no file was frozen over it.
func (l *loader) snapshot() bool {
	digests := map[string]string{}
	sound := true
	for _, u := range l.units {
		if u.next == nil || !u.compiled {
			continue
		}
		var failed Diagnostics
		u.next.trees(func(t *Tree, b *Block, at Pos) {
			digest, ok := digests[t.Path]
			if !ok {
				var err error
				if digest, err = l.digest(t.Path); errors.Is(err, ErrPending) {
					u.await(t, b, at)
					return
				} else if err != nil {
					failed = append(failed, u.complaint(b, at, "Folder not readable", sentence(err)))
					return
				}
				digests[t.Path] = digest
			}
			t.Digest = digest
			u.copied(t.Path, l.o)
		})
		if len(failed) > 0 {
			u.freeze(failed)
			sound = false
			continue
		}
		u.next.seal()
		u.settleContent()
	}
	return sound
}

// await leaves a folder at the copy that there was before, until there is the one that is being made.
func (u *unit) await(t *Tree, b *Block, at Pos) {
	t.Pending = true
	if u.last != nil {
		u.last.trees(func(was *Tree, _ *Block, _ Pos) {
			if was.Path == t.Path {
				t.Digest = was.Digest
			}
		})
	}
	d := u.complaint(b, at, "Not here yet: "+t.Path, sentence(ErrPending)+" Runs that need it wait.")
	d.Severity = Warning
	if !slices.ContainsFunc(u.errors, func(o Diagnostic) bool { return o.Summary == d.Summary }) {
		u.errors = append(u.errors, d)
	}
}

// copied notes how a folder lay of which the copy was made before.
func (u *unit) copied(path string, o *Options) {
	if o.Copied == nil {
		return
	}
	for i := range u.read {
		if c := &u.read[i]; c.Kind == ContentFolder && c.Name == path {
			c.Trace = o.Copied(path)
		}
	}
}

// settleContent completes what was noted of content before it was read.
func (u *unit) settleContent() {
	traces := map[string]string{}
	for _, s := range u.read {
		traces[s.key()] = s.Trace
	}
	u.read = slices.DeleteFunc(u.read, func(s Content) bool { return s.Digest == "" })
	u.read = u.next.content(u.read)
	for i := range u.read {
		u.read[i].Trace = traces[u.read[i].key()]
	}
}

func (l *loader) digest(dir string) (string, error) {
	if l.o.Snapshot != nil {
		return l.o.Snapshot(dir)
	}
	sum := sha256.New()
	if err := Pack(dir, sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
