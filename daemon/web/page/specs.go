package page

import (
	"github.com/assayd/assayd/reconcile/query"
)

// Specs are the spec files.
type Specs struct {
	Frame
	Files []query.SpecInfo
	Next  string
	First string
	Git   *query.GitStatus
}

// NewSpecs makes a page of the list of spec files.
func NewSpecs(f Frame, files []query.SpecInfo, git *query.GitStatus, next, first string) *Specs {
	f.Title, f.Nav, f.Topics = "specs", "specs", []string{"specs"}
	return &Specs{f, files, next, first, git}
}
