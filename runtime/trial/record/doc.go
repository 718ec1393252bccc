// Package record has the shapes of the records that tell what happens to a trial while it goes on, as they
// stand in the JSONL files: their names are their interface.
//
// The verdict is not among them: a trial keeps it in its state. The package writes nothing and reads
// nothing. A member is never renamed and never taken away.
//
// Start reading at Started.
package record
