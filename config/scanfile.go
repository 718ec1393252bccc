package config

import (
	"path/filepath"
	"regexp"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// looseFolder finds what names a folder in a text that does not parse.
var looseFolder = regexp.MustCompile(`\b(?:context|path|dir)\s*=\s*"([^"$%\\]*)"`)

// folderWords are those without one of which no text names a folder: the attributes, and the
// block that has one by default.
var folderWords = regexp.MustCompile(`\b(?:context|path|dir|mining)\b`)

// mayNameFolder reports whether it takes a parser to say which folders the text names.
func mayNameFolder(text []byte) bool { return folderWords.Match(text) }

// dataFolders returns the folders that the text names as data, without a look at anything
// else in it, and whether it could be read through.
func (f *file) dataFolders() ([]string, bool) {
	syntax, sound := f.parse()
	var out []string
	if syntax != nil {
		f.locals.collect(f, syntax)
		out = f.namedFolders(syntax)
	}
	if !sound {
		for _, match := range looseFolder.FindAllSubmatch(f.in.Text, -1) {
			out = f.appendFolder(out, string(match[1]))
		}
	}
	return out, sound
}

func (f *file) namedFolders(body *hclsyntax.Body) []string {
	var out []string
	for _, name := range []string{"context", "path", "dir"} {
		if attr, ok := body.Attributes[name]; ok {
			if v, ok := f.value(attr.Expr); ok && v.Type() == cty.String {
				out = f.appendFolder(out, v.AsString())
			}
		}
	}
	for _, block := range body.Blocks {
		if block.Type == "locals" {
			continue
		}
		named := f.namedFolders(block.Body)
		if block.Type == "mining" && len(named) == 0 && len(block.Labels) == 1 && specName.MatchString(block.Labels[0]) {
			named = []string{filepath.Join(filepath.Dir(f.in.Path), block.Labels[0])} // where its tasks go by default
		}
		out = append(out, named...)
	}
	return out
}

func (f *file) appendFolder(list []string, rel string) []string {
	if abs, err := f.resolve(rel); err == nil {
		return append(list, abs)
	}
	return list
}
