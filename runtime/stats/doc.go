// Package stats has the formulas behind the numbers that assayd reports: plain numbers in,
// numbers out.
//
// It knows no trial and no status. What it is given are samples, one a task, of attempts
// that each have an outcome; an outcome that was never set is none, so that trials which
// failed because of the machinery cannot get into a denominator by mistake. Tasks, not attempts, are
// averaged and resampled, and tasks of one repository are resampled together.
//
// All of it is a function of its input: resampling is seeded, and the order of samples is
// of no importance. Each formula names its source. Start reading at Sample and Means.
package stats
