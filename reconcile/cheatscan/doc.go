// Package cheatscan has ended trials looked through for what their agents did, beside everything else, and
// stores what was found with the trial and in its records. What is found is decided by trial.Host.Scan.
//
// Each goroutine that calls Run looks through one trial at a time.
package cheatscan
