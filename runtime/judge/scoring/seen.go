package scoring

import "github.com/assayd/assayd/runtime/judge/parser"

// Unseen is the message of a declared test that the output does not show.
const Unseen = "not seen in the output"

// Seen reports whether a test of a report was in the output. A declared one that was not has
// failed.
func Seen(t parser.Test) bool { return t.Status != parser.Failed || t.Message != Unseen }
