// Package results writes the JSONL files beside the specs. A file is a projection of lines
// whose text and seq were fixed in the store: the writer makes the file equal to them,
// whatever happened to either since, and tells the store how far it is durable.
//
// It never makes up a line, never changes one, never follows a link at the file itself and
// never writes over what somebody else wrote: then it goes on in <name>.2.jsonl. A folder
// that cannot be written, or that is another one since a link was swapped, is left alone,
// and the file is kept under the state directory.
//
// Start reading at Writer; projection.go makes one file equal to its lines.
package results
