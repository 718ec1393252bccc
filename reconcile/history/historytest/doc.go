// Package historytest has what tests of packages that read the history of runs need.
package historytest
