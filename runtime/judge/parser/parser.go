package parser

// Status of one test.
type Status string

// Statuses, in the words of the report.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Errored Status = "error"
	Skipped Status = "skipped"
)

// Test is the result of one test.
type Test struct {
	Name    string   `json:"name"`
	Status  Status   `json:"status"`
	Message string   `json:"message,omitempty"`
	Score   *float64 `json:"score,omitempty"`
	Weight  *float64 `json:"weight,omitempty"`

	ExitCode   *int   `json:"exit_code,omitempty"`   // of a test that is a command, where it ended by itself
	DurationMS *int64 `json:"duration_ms,omitempty"` // of a test that is a command
	TimedOut   bool   `json:"timed_out,omitempty"`   // of a test that is a command: it did not end in its time
	Output     string `json:"output,omitempty"`      // of a test that is a command: the beginning of what it printed

	// Detail is where the test failed and what was raised there, where the runner tells that at more
	// length than Message. No agent is told it.
	Detail string `json:"detail,omitempty"`

	// Repeats is the name that the runner gave the test, where an earlier one of the run had
	// it already, so that Name is that with a number added. Who does not know Name must let
	// the result count for Repeats, or a test that comes first hides those that follow.
	Repeats string `json:"-"`

	// Expected says that the test failed, and that something had said it would. What was
	// submitted can say that, too.
	Expected bool `json:"-"`

	// Target is the part of the run that the test belongs to, where a runner's names hold
	// within one only: of cargo the file of the test binary, or "doc".
	Target string `json:"-"`
}

// Input is what a judge command left behind.
type Input struct {
	Output   []byte            // standard output and error as they came, bounded by the judge
	Files    map[string][]byte // result files named by Parser.Files, by their name there
	ExitCode int
	TimedOut bool
	Cut      bool // a part of Output is missing
}

// Result is what a parser makes of it. Parsers never fail: what cannot be read is a result
// without tests and with a Problem.
type Result struct {
	Tests    []Test
	Score    *float64 // finite or nil
	PassRate *float64 // explicit rate in 0..1, where the format has one
	Valid    *bool    // nil = the format does not say
	Summary  string   // at most 4096 bytes
	Metrics  map[string]float64
	Complete bool   // the runner's own closing summary was seen and agrees with the tests
	Problem  string // why the output could not be (fully) understood
	Runs     int    // times that the runner was started, as far as the output shows; 0 = it shows nothing of that
}

// Parser understands one test-output format. A parser is one file of this package.
type Parser struct {
	Name    string
	Protect []string // globs of files that steer the runner: taken from the judge image, at any depth
	Files   []string // result files to fetch after the command, if they exist: relative to workdir, or absolute
	Parse   func(Input) Result

	// Environ returns the command's environment with what makes the runner name its tests,
	// whatever the command forgot to ask for; nil = it needs nothing.
	Environ func(env map[string]string) map[string]string

	// Tripwire arms the two tests of random name; nil where the format has no runner.
	Tripwire func(Site) (Tripwire, bool)
}

// Site is what a tripwire is built for.
type Site struct {
	Command string                   // the judge command as text
	Workdir string                   // absolute
	Env     map[string]string        // environment the command gets anyway
	Expect  []string                 // names of the tests that are known to run, if they are
	Hidden  []string                 // paths of hidden files below workdir
	Read    func(path string) []byte // content of a hidden file, nil when absent
	Nonce   string                   // random, lower-case hex
}

// Tripwire is one test that must fail and one that must pass, added to a judging. They
// count in no total, rate or feedback.
type Tripwire struct {
	Files    map[string]string      // absolute path in the container -> content
	Env      map[string]string      // added to the command's environment
	MustPass func(name string) bool // recognises the added test by its reported name
	MustFail func(name string) bool
	Places   int // in so many, by their names, both have to be seen; 0 = one
	ExitCode int // what the runner exits with when only MustFail fails
}
