// Package task says what a task is: the instruction, how its work and judge images are
// made, what may be submitted, and how a submission is judged.
//
// The values here are plain data without source positions or pointers to specs, so that
// a cell key can be a hash of them. The package never reads files or talks to an engine;
// formats of other systems live in packages below it. Start reading at Task.
package task
