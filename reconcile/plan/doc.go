// Package plan says what a run wants, and which actions make it exist: desired x observed -> plan.
//
// A Compiler turns a run block into a Run, which is cells and how they are to be done. Observed is what exists of it,
// a CellIndex follows its trials one by one, and Diff compares the two; all policy about runs stands there. All of it
// is pure, and tested as text.
//
// It never reads the store, never starts anything, and knows no clock: the time is an argument.
package plan
