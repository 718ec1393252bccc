// Package hour writes an hour of GH Archive as it was at its largest, the same each time.
//
// The text is made up: the package reaches no network and names no person. Start reading at Generate.
package hour
