package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Draft is a spec file that a program writes. What it is given may be any text: it is escaped as the
// language wants it.
type Draft struct {
	file *hclwrite.File
	err  error
}

// NewDraft begins a spec file with a comment of one line.
func NewDraft(comment string) *Draft {
	d := &Draft{file: hclwrite.NewEmptyFile()}
	comment = strings.Join(strings.Fields(strings.ToValidUTF8(comment, "")), " ")
	d.file.Body().AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte("# " + comment + "\n")}})
	return d
}

// Text is the file in the usual layout. It fails where a value cannot be written in the language.
func (d *Draft) Text() ([]byte, error) { return hclwrite.Format(d.file.Bytes()), d.err }

// Block adds a block at the end of the file, after an empty line.
func (d *Draft) Block(kind string, labels ...string) *DraftBlock {
	d.file.Body().AppendNewline()
	return &DraftBlock{d, d.file.Body().AppendNewBlock(kind, labels).Body()}
}

// DraftBlock is a block of a Draft.
type DraftBlock struct {
	draft *Draft
	body  *hclwrite.Body
}

// Block adds a block inside this one.
func (b *DraftBlock) Block(kind string, labels ...string) *DraftBlock {
	return &DraftBlock{b.draft, b.body.AppendNewBlock(kind, labels).Body()}
}

// Text adds an attribute that is a text.
func (b *DraftBlock) Text(name, value string) { b.body.SetAttributeValue(name, b.text(name, value)) }

// Texts adds an attribute that is a list of texts.
func (b *DraftBlock) Texts(name string, values []string) {
	list := []cty.Value{}
	for _, value := range values {
		list = append(list, b.text(name, value))
	}
	b.body.SetAttributeValue(name, cty.TupleVal(list))
}

// text is a value as a reader of the file gets it: the language composes letters and marks, and has
// no bytes that are no text.
func (b *DraftBlock) text(name, value string) cty.Value {
	v := cty.StringVal(value)
	if v.AsString() != value || strings.ToValidUTF8(value, "") != value || strings.ContainsRune(value, 0) {
		b.draft.err = errors.Join(b.draft.err, fmt.Errorf("%s cannot be %q: a spec file holds text in UTF-8 alone, with composed letters", name, value))
		return cty.StringVal("")
	}
	return v
}

// Number adds an attribute that is a whole number.
func (b *DraftBlock) Number(name string, value int) {
	b.body.SetAttributeValue(name, cty.NumberIntVal(int64(value)))
}

// Bool adds an attribute that is true or false.
func (b *DraftBlock) Bool(name string, value bool) {
	b.body.SetAttributeValue(name, cty.BoolVal(value))
}

// Refs adds an attribute that is a list of references, kind.NAME each.
func (b *DraftBlock) Refs(name, kind string, names ...string) {
	var list []hclwrite.Tokens
	for _, one := range names {
		list = append(list, hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: kind}, hcl.TraverseAttr{Name: one}}))
	}
	b.body.SetAttributeRaw(name, hclwrite.TokensForTuple(list))
}
