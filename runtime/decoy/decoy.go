package decoy

// Side says what a variant changes. In this order they are offered, from the most telling
// to the least.
type Side string

// Sides.
const (
	Expected   Side = "expected"   // a literal that the test expects
	Constant   Side = "constant"   // a named constant of an assertion
	Input      Side = "input"      // what the test gives to the code; never decides alone
	Removed    Side = "removed"    // a statement is left out
	Comparator Side = "comparator" // the assertion is turned round
)

const (
	// Wanted is how many valid decoys, at different tokens, a test should have.
	Wanted = 3
	// Limit is how many variants of one test are proposed at most: more than Wanted, for not
	// every proposal turns out to be a decoy.
	Limit = 16
)

// Variant is one changed copy of one test: in File, the bytes [From, To) become New.
//
// Variants of one test may be at the same token (another value): they overlap, so use one
// of them. Variants of different tests overlap only if each test is in the other's Affects.
type Variant struct {
	Test string // as in the list that Propose got
	File string // as in the files that Propose got
	From int    // in bytes
	To   int
	Old  string // the bytes that are there
	New  string
	Line int // of the token, counted from 1: a test that fails before it fails there as it did
	Side Side

	// Affects are the tests of the list whose outcomes the change may change, sorted: Test,
	// those that contain it (TestX of TestX/row), and those that share the changed text (all
	// rows, where it stands in their common body or the row of a test cannot be told).
	// Variants with the same tests have one slice in common: do not change it.
	Affects []string
}

// Overlaps reports whether both change the same part of one file, so that only one of them
// can be applied.
func (v Variant) Overlaps(w Variant) bool {
	return v.File == w.File && v.From < w.To && w.From < v.To
}

// Proposal is what Propose found.
type Proposal struct {
	// Variants of each test, at most Limit, best first: those that affect the fewest tests,
	// then by side, one for each token; other values for the same tokens fill what is left.
	Variants map[string][]Variant
	// None says for each other test of the list why there is none.
	None map[string]string
}
