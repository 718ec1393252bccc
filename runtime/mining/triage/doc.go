// Package triage has models judge pull requests: how hard they seem by their title and
// description, before anything is cloned; how hard they are by their whole diff and tests;
// and whether they are good tasks.
//
// A judgement is a model's or there is none: what does not fit is asked for once more, then
// it is an error. There is no default. Pull requests are hostile, and fenced. Start reading
// at Triage, Classify and Quality.
package triage
