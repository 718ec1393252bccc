package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/assayd/assayd/config/shell"
)

// body reads one block. Whatever is asked for is known; what close then finds beyond it is
// an error with a suggestion. So the decoding of a block is its schema, and each default
// stands beside the name it belongs to. A block that is absent reads as an empty one.
type body struct {
	f      *file
	syntax *hclsyntax.Body // nil: absent
	name   string          // for messages: run, judge
	header hcl.Range       // where something missing is reported
	prefix string          // of keys in at: "judge."
	at     map[string]Pos
	attrs  []string // known
	blocks []string

	missing []string // what it needs and has not
}

// attr evaluates an attribute. It is not there if it is null or its error is reported.
func (b *body) attr(name string) (*hclsyntax.Attribute, cty.Value, bool) {
	b.attrs = append(b.attrs, name)
	if b.syntax == nil {
		return nil, cty.NilVal, false
	}
	attr, ok := b.syntax.Attributes[name]
	if !ok {
		return nil, cty.NilVal, false
	}
	b.at[b.prefix+name] = pos(attr.NameRange)
	value, ok := b.f.value(attr.Expr)
	return attr, value, ok
}

// read evaluates an attribute and hands it to a conversion. Its problem is reported on the
// value, and the default stays.
func read[T any](b *body, name string, value T, convert func(cty.Value) (T, error)) T {
	attr, v, ok := b.attr(name)
	if !ok {
		return value
	}
	if hasSecret(v.Type()) {
		b.f.fail(attr.Expr.Range(), "Secret not allowed here", fmt.Sprintf("The value of %q is stored, hashed or seen by a container; secret() is for keys and tokens of the settings.", name))
		return value
	}
	out, err := convert(v)
	if err != nil {
		b.f.fail(attr.Expr.Range(), fmt.Sprintf("Invalid value for %q", name), sentence(err))
		return value
	}
	return out
}

// need has close report an attribute or block that is not there.
func (b *body) need(name string) {
	if b.syntax == nil || b.has(name) || slices.Contains(b.missing, name) {
		return
	}
	b.missing = append(b.missing, name)
}

// has reports whether an attribute or block of that name is written out.
func (b *body) has(name string) bool {
	if b.syntax == nil {
		return false
	}
	_, attr := b.syntax.Attributes[name]
	return attr || slices.ContainsFunc(b.syntax.Blocks, func(block *hclsyntax.Block) bool { return block.Type == name })
}

// exclusive reports all but the first of the names that are written out.
func (b *body) exclusive(names ...string) {
	first := ""
	for _, name := range names {
		switch {
		case !b.has(name):
		case first == "":
			first = name
		default:
			b.f.fail(b.where(name), fmt.Sprintf("%q excludes %q", first, name), fmt.Sprintf("%s takes one of the two.", b.name))
		}
	}
}

// where returns the range of what an attribute or block is called by.
func (b *body) where(name string) hcl.Range {
	if b.syntax == nil {
		return b.header
	}
	if attr, ok := b.syntax.Attributes[name]; ok {
		return attr.NameRange
	}
	for _, block := range b.syntax.Blocks {
		if block.Type == name {
			return block.TypeRange
		}
	}
	return b.header
}

func (b *body) text(name, value string) string { return read(b, name, value, toText) }

func (b *body) boolean(name string, value bool) bool { return read(b, name, value, toBool) }

func (b *body) duration(name string, value time.Duration) time.Duration {
	return read(b, name, value, toDuration)
}

func (b *body) size(name string, value int64) int64 {
	return read(b, name, value, toSize)
}

// whole reads an integer not below least.
func (b *body) whole(name string, value, least int) int {
	return read(b, name, value, func(v cty.Value) (int, error) { return toWhole(v, least) })
}

// number reads a number between two others.
func (b *body) number(name string, value, least, most float64) float64 {
	return read(b, name, value, func(v cty.Value) (float64, error) { return toNumber(v, least, most) })
}

// choice reads one of a few words.
func (b *body) choice(name, value string, words ...string) string {
	return read(b, name, value, func(v cty.Value) (string, error) { return viaText(v, oneOf(words)) })
}

// checked reads a text that a check accepts.
func (b *body) checked(name, value string, check func(string) error) string {
	return read(b, name, value, func(v cty.Value) (string, error) {
		return viaText(v, func(s string) (string, error) { return s, check(s) })
	})
}

// checkedList reads a list of texts that a check accepts.
func (b *body) checkedList(name string, value []string, check func(string) error) []string {
	return read(b, name, value, func(v cty.Value) ([]string, error) { return toCheckedList(v, check) })
}

func (b *body) globs(name string, value []string) []string {
	return b.checkedList(name, value, checkGlob)
}

func checkGlob(s string) error {
	switch {
	case s == "" || !doublestar.ValidatePattern(s):
		return fmt.Errorf("%q is no pattern", s)
	case strings.Count(s, "{") > maxBraces:
		return fmt.Errorf("%.80q has more than %d braces; write several patterns", s, maxBraces)
	}
	return nil
}

// maxBraces bounds what the alternatives of one glob multiply to: each is tried.
const maxBraces = 5

// pairs reads a map of texts whose keys a check accepts.
func (b *body) pairs(name string, check func(key string) error) map[string]string {
	return read(b, name, nil, func(v cty.Value) (map[string]string, error) { return toPairs(v, check) })
}

func (b *body) env() map[string]string { return b.pairs("env", checkEnvName) }

// command reads a line for the shell or an argument vector.
func (b *body) command(name string, check func(string) error) Command {
	return read(b, name, Command{}, func(v cty.Value) (Command, error) { return toCommand(v, check) })
}

// checkPrompt refuses a line for the shell in which a prompt would be run.
func (b *body) checkPrompt(name string, c Command) {
	err := shell.CheckList(c.Argv)
	if shell.Holds(c.Shell) {
		_, err = shell.Bind(c.Shell)
	}
	if err != nil {
		b.f.fail(b.where(name), fmt.Sprintf("Invalid value for %q", name), sentence(err))
	}
}

// path reads a path below the root, which need not exist.
func (b *body) path(name string) string {
	return read(b, name, "", func(v cty.Value) (string, error) { return viaText(v, b.f.resolve) })
}

// folder reads the path of a folder.
func (b *body) folder(name string) string {
	return read(b, name, "", func(v cty.Value) (string, error) { return viaText(v, b.f.folder) })
}

// data reads the path of a folder or a plain file that stays where it is.
func (b *body) data(name string) string {
	return read(b, name, "", func(v cty.Value) (string, error) { return viaText(v, b.f.data) })
}

// tree reads the path of a folder that is copied when the file is accepted.
func (b *body) tree(name string) Tree { return Tree{Path: b.folder(name)} }

// one returns the only block of a type, reporting others, and whether it is there.
func (b *body) one(typ string) (*body, bool) {
	b.blocks = append(b.blocks, typ)
	sub := &body{f: b.f, name: typ, header: b.header, prefix: b.prefix + typ + ".", at: b.at}
	if b.syntax == nil {
		return sub, false
	}
	for _, block := range b.syntax.Blocks {
		switch {
		case block.Type != typ:
		case sub.syntax != nil:
			b.f.fail(block.DefRange(), fmt.Sprintf("Second %q block", typ), fmt.Sprintf("%s takes one; the first is in line %d.", b.name, sub.header.Start.Line))
		default:
			b.labels(block, 0)
			sub.syntax, sub.header = block.Body, block.DefRange()
			b.at[b.prefix+typ] = pos(block.TypeRange)
		}
	}
	return sub, sub.syntax != nil
}

// many returns the blocks of a type with the one label that each has. Blocks that are
// known by a place of their own start a new map of positions.
func (b *body) many(typ string) []labelled {
	b.blocks = append(b.blocks, typ)
	if b.syntax == nil {
		return nil
	}
	var out []labelled
	for _, block := range b.syntax.Blocks {
		if block.Type != typ {
			continue
		}
		if _, ok := b.at[b.prefix+typ]; !ok {
			b.at[b.prefix+typ] = pos(block.TypeRange)
		}
		if b.labels(block, 1) {
			out = append(out, b.f.labelled(block))
		}
	}
	return out
}

// labelled is a block with a label.
type labelled struct {
	*body
	label string
	place Place
	rng   hcl.Range // of the label
}

// labelled returns the reader of a block whose one label was checked to be there.
func (f *file) labelled(block *hclsyntax.Block) labelled {
	at := map[string]Pos{}
	name := fmt.Sprintf("%s %q", block.Type, block.Labels[0])
	return labelled{
		body:  &body{f: f, syntax: block.Body, name: name, header: block.DefRange(), at: at},
		label: block.Labels[0],
		place: Place{Pos: pos(block.TypeRange), At: at},
		rng:   block.LabelRanges[0],
	}
}

// labels reports a block that has another number of labels.
func (b *body) labels(block *hclsyntax.Block, want int) bool { return b.f.labels(block, want) }

func (f *file) labels(block *hclsyntax.Block, want int) bool {
	if len(block.Labels) == want {
		return true
	}
	form := block.Type + " { … }"
	if want == 1 {
		form = block.Type + ` "NAME" { … }`
	}
	f.fail(block.DefRange(), "Wrong number of labels", fmt.Sprintf("Write %s.", form))
	return false
}

// close reports what nobody asked for, and what is missing. What is spelt wrongly is only the former.
func (b *body) close() {
	if b.syntax == nil {
		return
	}
	var meant []string // by what is not known: it is not missing, too
	for _, name := range slices.Sorted(maps.Keys(b.syntax.Attributes)) {
		if !slices.Contains(b.attrs, name) {
			meant = append(meant, Nearest(name, b.attrs))
			b.f.fail(b.syntax.Attributes[name].NameRange, "Unknown attribute", b.unknown("attribute", name, b.attrs, b.blocks))
		}
	}
	for _, block := range b.syntax.Blocks {
		if !slices.Contains(b.blocks, block.Type) {
			meant = append(meant, Nearest(block.Type, b.blocks))
			b.f.fail(block.TypeRange, "Unknown block", b.unknown("block", block.Type, b.blocks, b.attrs))
		}
	}
	for _, name := range b.missing {
		if !slices.Contains(meant, name) {
			b.f.fail(b.header, fmt.Sprintf("Missing %q", name), fmt.Sprintf("%s needs %q.", b.name, name))
		}
	}
}

// misspelt reports whether close says of an attribute that one of these names may be meant.
func (b *body) misspelt(names ...string) bool {
	if b.syntax == nil {
		return false
	}
	for name := range b.syntax.Attributes {
		if !slices.Contains(b.attrs, name) && slices.Contains(names, Nearest(name, b.attrs)) {
			return true
		}
	}
	return false
}

func (b *body) unknown(what, name string, known, other []string) string {
	if slices.Contains(other, name) {
		form := map[string]string{"attribute": "a block: write %s { … }", "block": "an attribute: write %s = …"}[what]
		return fmt.Sprintf("%q is "+form+".", name, name)
	}
	return fmt.Sprintf("%s has no %s %q%s", b.name, what, name, suggest(name, known))
}
