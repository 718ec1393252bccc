package scoring

import (
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// guarded guards the daemon: an output that a parser stumbles over must not stop it, and
// again at every restart.
func guarded(p parser.Parser, in parser.Input) (r parser.Result) {
	defer func() {
		if bug := recover(); bug != nil {
			r = parser.Result{Problem: fmt.Sprintf("parser %s stumbled over the output: %v", p.Name, bug)}
		}
	}()
	return p.Parse(in)
}

// Parse reads an output, and of one that tells nothing the result says what may be wrong. running
// is the test that had begun when the time was over; "" = not known. A hint is looked for by other
// parsers: where one stumbles there is none.
func Parse(p parser.Parser, in parser.Input) (r parser.Result, running string) {
	r = guarded(p, in)
	defer func() { _ = recover() }()
	switch {
	case in.TimedOut:
		running = parser.Unfinished(p, in.Output)
	case len(r.Tests) == 0 && r.Score == nil && r.PassRate == nil:
		if hint := parser.Hint(p, in); hint != "" {
			r.Problem = strings.TrimPrefix(r.Problem+"; "+hint, "; ")
		}
	}
	return r, running
}
