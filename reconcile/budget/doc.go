// Package budget reads what budgets leave: that of a run for further trials, and those of the settings for the day
// and the month, which count what all models together cost, by the days of UTC.
//
// It only reads: package plan decides which trials begin, and package control sets the hold that a budget of the
// settings comes to. Start reading at Funds and Periods.
package budget
