package sanitize

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Rules say what cleaning lets through.
type Rules struct {
	Submit task.Submit
	// Protect holds globs of files that only the judge image may have, at any depth.
	Protect []string
	// Hidden are the paths in the judge image, relative to workdir, that a submission
	// leaves as they are. A folder stands for everything below it.
	Hidden []string
	// Links are the symbolic links of the judge image, by path relative to workdir, with
	// what they resolve to in the same form, or "" for a place outside.
	Links map[string]string
	// Present is what else the judge image holds below workdir, by path: true is a folder.
	// No file can be laid over a folder, nor a folder over a file.
	Present map[string]bool
	// Own is what else is the judge image's; nil = nothing.
	Own *Own
	// Workdir is where the submission is laid out: whole paths have to fit.
	Workdir string
	// Slack is how many times the bounds of Submit may be read, with all that is left out;
	// 0 = 2.
	Slack int
	// Spool is the folder for a temporary file while cleaning; "" = the system's.
	Spool string
}

// Bounds on names, in bytes and in path elements. With the workdir before it a path has to
// stay below what a kernel takes, which is 4096.
const (
	maxName    = 4000
	maxElement = 255
	maxDepth   = 128
)

// Rulebook is Rules made ready for questions.
type Rulebook struct {
	filter   *Filter
	protect  patterns
	hidden   map[string]bool
	holders  map[string]bool   // folders above hidden paths
	links    map[string]string // of the judge image
	present  map[string]bool
	own      *ownership
	workdir  string
	maxBytes int64
	maxFiles int
	slack    int

	folders map[string]bool // memo: folder -> may nothing in it be changed
}

// NewRulebook compiles rules.
func NewRulebook(r Rules) (*Rulebook, error) {
	filter, err := NewFilter(r.Submit)
	if err != nil {
		return nil, err
	}
	protect, err := compile(r.Protect)
	if err != nil {
		return nil, fmt.Errorf("protected files: %w", err)
	}
	b := &Rulebook{
		filter: filter, protect: protect, links: r.Links, present: r.Present,
		hidden: map[string]bool{}, holders: map[string]bool{}, folders: map[string]bool{},
		maxBytes: r.Submit.MaxBytes, maxFiles: r.Submit.MaxFiles, workdir: r.Workdir, slack: r.Slack,
	}
	if b.slack <= 0 {
		b.slack = 2
	}
	if b.maxBytes <= 0 {
		b.maxBytes = 1 << 30
	}
	if b.maxFiles <= 0 {
		b.maxFiles = 100_000
	}
	for _, h := range r.Hidden {
		h = path.Clean(h)
		b.hidden[h] = true
		for dir := range Upwards(path.Dir(h)) {
			b.holders[dir] = true
		}
	}
	b.own, err = newOwnership(r.Own, b)
	return b, err
}

// Untouchable reports whether the path, or a folder above it, is hidden, protected or
// excluded.
func (b *Rulebook) Untouchable(name string) bool {
	if b.own.frees(name) {
		for up := range Upwards(name) {
			if b.hidden[up] || b.protect.exactly(up) || b.filter.drop.exactly(up) {
				return true
			}
		}
		return false
	}
	dir := path.Dir(name)
	return dir != "." && b.shut(dir) || b.named(name)
}

// shut is untouchable for folders, and remembers the answer: archives repeat them. It does
// not remember what is below a shut one, of which there may be any number.
func (b *Rulebook) shut(dir string) bool {
	if known, ok := b.folders[dir]; ok {
		return known
	}
	if up := path.Dir(dir); up != "." && b.shut(up) {
		return true
	}
	b.folders[dir] = b.named(dir)
	return b.folders[dir]
}

// named reports whether a rule is about this very path.
func (b *Rulebook) named(name string) bool {
	return b.hidden[name] || b.protect.exactly(name) || b.filter.drop.exactly(name) || b.own.holds(name)
}

// open reports whether an entry of that name could be submitted.
func (b *Rulebook) open(name string) bool {
	return b.filter.inside(name) && !b.Untouchable(name)
}

// Inside reports whether a path lies where something may be submitted.
func (b *Rulebook) Inside(name string) bool { return b.filter.inside(name) }

// Hides reports whether this very path is one of Rules.Hidden.
func (b *Rulebook) Hides(name string) bool { return b.hidden[name] }

// touchesHidden reports whether the path is hidden or holds something hidden.
func (b *Rulebook) touchesHidden(name string) bool {
	return name == "." || b.holders[name] || b.Untouchable(name)
}

// normalise returns the clean relative form of an entry's name. A trailing slash says
// nothing; "." is the workdir itself.
func normalise(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if strings.HasPrefix(name, "/") {
		return "", round.Refuse(400, "the archive holds the absolute path %q", name)
	}
	clean := path.Clean(name)
	elements := 0
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." {
			return "", round.Refuse(400, "the archive holds the path %q with a parent folder in it", name)
		}
		if len(element) > maxElement {
			return "", round.Refuse(400, "the archive holds a name of %d bytes; %d is the most", len(element), maxElement)
		}
		elements++
	}
	if elements > maxDepth {
		return "", round.Refuse(400, "the archive holds a path of %d elements; %d is the most", elements, maxDepth)
	}
	return clean, nil
}

// checkName refuses what no file of a source tree is called, but what confuses those who
// read lists of names.
func checkName(name string) error {
	switch {
	case name == "":
		return round.Refuse(400, "the archive holds an entry without a name")
	case len(name) > maxName:
		return round.Refuse(400, "the archive holds a path of %d bytes; %d is the most", len(name), maxName)
	case !utf8.ValidString(name):
		return round.Refuse(400, "the archive holds the name %q, which is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return round.Refuse(400, "the archive holds the name %q with a control character in it", name)
	}
	return nil
}
