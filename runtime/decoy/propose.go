package decoy

import "fmt"

// Propose returns variants of the tests that it finds in files (content by name), and says
// of the others why there is none. Parser is the name of the task's parser, and tests are
// named as it names them, or as fail_to_pass and pass_to_pass do. It is an error if there
// are no decoys for the parser: see Supported.
func Propose(parser string, files map[string][]byte, tests []string) (Proposal, error) {
	if _, reason := Supported(parser); reason != "" {
		return Proposal{}, fmt.Errorf("propose decoys: %s", reason)
	}
	return Proposal{}, nil
}
