// Package mixed decides about mixed runs: judgings in which each hidden test is laid either
// as it is or as a decoy, that is with one token changed so that a right solution fails it.
//
// A Set holds the decoys of one content. Draws says which decoy of which test is laid in
// which run, by a secret draw. Judge says what the outcomes of such runs show: that a test
// passed which no solution passes, or that a real test did not pass again. Valid and
// SamePlace say of a proposed variant whether it is a decoy at all.
//
// The package runs nothing and stores nothing; all but Draws are functions of their input.
// An honest solution must never be called tampered, so wherever a decoy or an outcome is in
// doubt, it does not count.
//
// Start reading at Set and Judge.
package mixed
