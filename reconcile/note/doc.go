// Package note is what users say of runs, mining specs and trials: notes, which are lines of text, and tags, by which
// trials are listed. It has what a target bears, and the bounds.
//
// It does not decide which users may note something, and stores nothing: control.Notes does. Start reading at Set.
package note
