package screen

import (
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// census is what the files of a pull request come to.
type census struct {
	files    int // that count
	source   int
	tests    int
	vendored int
	added    int // lines of source
	lines    int // of source, added and removed
	copied   int // lines of vendored files
	unlisted int // files that nobody has named
}

// count takes the census of a pull request.
func (r Rules) count(p github.Pull) census {
	c := census{}
	if p.FilesCut {
		c.unlisted = max(0, p.ChangedFiles-len(p.Files))
		c.files = c.unlisted
	}
	for _, f := range p.Files {
		kind := KindOf(f.Name)
		switch kind {
		case Generated, Vendored, Lock:
			if r.ExcludeGenerated {
				if kind == Vendored {
					c.vendored++
					c.copied += f.Added + f.Removed
				}
				continue
			}
			kind = Source
		}
		c.files++
		switch kind {
		case Test, Fixture:
			c.tests++
		case Source:
			c.source++
			c.added += f.Added
			c.lines += f.Added + f.Removed
		}
	}
	return c
}

// changes asks what was changed, and how much.
func (r Rules) changes(p github.Pull) error {
	c := r.count(p)
	// Only a list that is whole says that something is not there.
	whole := c.unlisted == 0 && len(p.Files) > 0
	switch {
	case c.files > r.Files.Max:
		return reason.Reject("many_files", "%d files are changed; %d are the most", c.files, r.Files.Max)
	case whole && c.vendored > 0 && (c.source == 0 || c.copied > c.lines):
		return reason.Reject("vendored", "most of it is in %d vendored files", c.vendored)
	case whole && r.ExcludeGenerated && c.files == 0:
		return reason.Reject("generated_only", "nothing is changed that a person has written")
	case whole && r.ExcludeTestsOnly && c.source == 0 && c.tests > 0:
		return reason.Reject("tests_only", "no source is changed")
	case whole && r.ExcludeDocsOnly && c.source == 0 && c.tests == 0:
		return reason.Reject("docs_only", "documents and settings alone are changed")
	case c.files < r.Files.Min:
		return reason.Reject("few_files", "%d files are changed; %d are the least", c.files, r.Files.Min)
	case c.unlisted == 0 && c.added < r.AddedLines.Min:
		return reason.Reject("few_lines", "%d lines of source are added; %d are the least", c.added, r.AddedLines.Min)
	case c.added > r.AddedLines.Max:
		return reason.Reject("many_lines", "%d lines of source are added; %d are the most", c.added, r.AddedLines.Max)
	}
	return nil
}
