// Package trialview answers questions about one trial: its status, its rounds with their tests, what judge commands and the
// agent wrote, the steps of its transcript, and what changed from one round to another.
//
// It reads the store, the blobs, and the folder of the trial. It knows no spec and no run, and it changes nothing. Run is its
// only goroutine, and makes indices of long transcripts. Texts stay hidden from callers that request.HidesContent names.
// Start reading at Trials.
package trialview
