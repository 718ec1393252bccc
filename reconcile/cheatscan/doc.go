// Package cheatscan has ended trials looked through for what their agents did, beside everything else, and
// stores the findings with the trial and in its records. trial.Host.Scan decides what they are.
//
// Each goroutine that calls Run looks through one trial at a time.
package cheatscan
