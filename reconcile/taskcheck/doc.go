// Package taskcheck finds out whether a task is fit to be used: it has the task's solution, its untouched
// tree, and what an adversary would submit judged, looks through its images and its repository, and may have
// a model rate it (CheckTask). It also makes images of tasks ahead, or looks for them (Images). What the
// findings mean is decided in runtime/vet.
package taskcheck
