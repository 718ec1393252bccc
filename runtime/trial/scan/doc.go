// Package scan looks, once a try of a trial is over, for what those do who cheat: in the transcript or
// the log, in the patch, and in the archives of its rounds.
//
// The agent wrote all of that, so each look is bounded in time. The rules are those of the package
// cheat; this one finds what they are held against, and the tree that the agent began with.
//
// It changes no verdict and writes no record. What could not be looked at is an error beside the findings.
//
// Start reading at Scanner.Scan.
package scan
