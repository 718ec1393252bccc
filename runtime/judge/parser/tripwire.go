package parser

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Check takes the two added tests out of a result and says whether they show tampering.
//
// The test that must fail betrays a patched runner by passing or being skipped, in any run
// of several. Beyond that only an orderly end is judged: where the result is complete, each
// of the two must be there and as it should be. A runner that crashed, ran out of time or
// could not compile what was submitted shows neither, which is not tampering; its result
// is not complete. The reason is empty where nothing is wrong.
func (t Tripwire) Check(r Result) (rest []Test, reason string) {
	passed, failed := map[string]bool{}, map[string]bool{}
	for _, test := range r.Tests {
		switch {
		case t.MustFail != nil && t.MustFail(test.Name):
			failed[test.Name] = true
			if test.Status == Passed || test.Status == Skipped {
				reason = "a test that must fail is reported as " + string(test.Status)
			}
		case t.MustPass != nil && t.MustPass(test.Name):
			passed[test.Name] = true
			if test.Status != Passed && r.Complete && reason == "" {
				reason = "a test that must pass is reported as " + string(test.Status)
			}
		default:
			rest = append(rest, test)
		}
	}
	if reason == "" && r.Complete && min(len(passed), len(failed)) < max(t.Places, 1) {
		reason = "a test added by the judge is missing from a run that ended orderly"
	}
	return rest, reason
}

// marks derives from the nonce the two words that stand in the names of the added tests.
// Nothing but knowledge of the nonce tells which is which.
func marks(nonce string) (pass, fail string) {
	return mark(nonce, "pass"), mark(nonce, "fail")
}

func mark(nonce, role string) string {
	sum := sha256.Sum256([]byte(role + "\x00" + nonce))
	return hex.EncodeToString(sum[:8])
}

// containing recognises names that hold a mark.
func containing(mark string) func(string) bool {
	return func(name string) bool { return strings.Contains(name, mark) }
}
