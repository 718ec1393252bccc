// Package steer knows the files of a source tree that decide what its tests come to without
// being code under test: what tools make of other files and trust in their place, what steers
// the runners of tests, and which part of a shared settings file is the runner's. All is text
// in and text out. Start reading at Derived, Kept and Merge.
package steer
