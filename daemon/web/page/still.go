package page

import (
	"fmt"
	"slices"
)

// Still is how pages are that are written as files.
type Still struct {
	With   []string // of Contents
	Public bool     // nothing that could tell of hidden tests
}

// Contents are what pages in files have only if it is asked for.
func Contents() []string { return []string{"tests", "outputs", "logs", "steps", "diffs"} }

// Shows reports whether the page has a content.
func (f *Frame) Shows(content string) bool {
	return !f.Numbers && (f.Still == nil || slices.Contains(f.Still.With, content))
}

// Tells reports whether the page has texts that may quote hidden tests, and paths of the machine.
func (f *Frame) Tells() bool { return f.Still == nil || !f.Still.Public }

// Acts reports whether the page has forms: one in a file has none.
func (f *Frame) Acts() bool { return f.Still == nil }

// Style is the style sheet of all pages.
func Style() ([]byte, error) {
	text, err := static.ReadFile("static/app.css")
	if err != nil {
		return nil, fmt.Errorf("read the style sheet: %w", err)
	}
	return text, nil
}
