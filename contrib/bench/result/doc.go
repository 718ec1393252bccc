// Package result has the arithmetic of the bench: medians, ratios, and how figures are written.
//
// A Result is one measurement of ours beside its reference from the same run. The package measures
// nothing and writes no file. Start reading at Compare.
package result
