// Package containertest is what tests of engines, and tests that need an engine, share.
//
// Run is the conformance suite: every sentence of the container package's contract as a
// test that any engine has to pass. Fake is an engine in memory whose containers run Go
// functions; it passes the suite, and it can be told to fail in all the ways a real one
// does. ProbeImage makes a tiny image with one static program out of nothing, so that no
// test needs a registry. Nothing here is linked into assayd. Start reading at Run and
// NewFake.
package containertest
