// Package drive has the trials of the loop that goroutines drive, each a trial.Machine in a goroutine of its own. It
// starts a trial, its next try, or one that a former daemon drove, and stores each transition with its records, in one
// transaction.
//
// It never decides which trial starts (plan does); whether there is room for it is the only question it answers. It
// reads no spec file and makes no summary. Trials belong to the loop's goroutine, but for what the goroutines of
// trials call themselves. Start reading at Trials.Start.
package drive
