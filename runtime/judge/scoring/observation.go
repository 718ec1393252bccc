package scoring

import "github.com/assayd/assayd/runtime/judge/parser"

// Observation is all that was seen of one run of a judge command.
type Observation struct {
	Parser   parser.Parser
	Canary   *parser.Tripwire // nil = not armed
	Result   parser.Result
	Exit     int
	TimedOut bool
	Running  string // the test that had begun and not ended when the time was over; "" = not known
	OOM      bool
	Overfull string       // how the command went beyond its disk limit; "" = it did not
	NoStart  string       // why the command could not be started; "" = it was
	LastLine string       // of the output
	Cut      bool         // a part of the output that the parser reads is missing
	Starts   int          // times that the command starts the parser's runner; 0 = not known
	Run      *Observation // of the stage that made what was graded; nil = there is none

	// Expects says of a test whether the judge's files may have it fail; nil = of any.
	Expects func(name string) bool
	// Elsewhere says of a test whether the judge has it in another place than the name; nil = of none.
	Elsewhere func(name string) bool
}
