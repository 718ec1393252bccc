// Package githubtest is a GitHub for tests: a server with the API that mining uses, REST and
// GraphQL, with the limits, headers, redirections, pages and faults of the real one. It counts
// what it answers, so that a test can tell whether something was asked for twice.
//
// It holds what a World says and invents nothing. Only tests import it. Start reading at New.
package githubtest
