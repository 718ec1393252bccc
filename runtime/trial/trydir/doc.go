// Package trydir is what one try of a trial has on the host: the folder that its container mounts, and
// the folder that outlives the container, with the agent's log, patch, and transcript.
//
// It knows where each file lies, fills the folders, and takes them away. It never asks an engine,
// never decides when something happens to a folder, and writes no record.
//
// Every step may be repeated: a crash leaves nothing that the next daemon takes for whole.
//
// Start reading at Dir.
package trydir
