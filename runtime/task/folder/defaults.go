package folder

import "github.com/assayd/assayd/runtime/task"

// Limits are what a part gets whose format says nothing else: as in the language, but for the processes,
// of which the harnesses of others allow any number.
func Limits() task.Part {
	return task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30}
}

// OpenNetwork is what is told of tasks whose tests reach a network.
const OpenNetwork = "is judged with an open network, because its tests may need it; submitted code can use it"

// Submit is what may be submitted of a task whose format knows no bounds: paths relative to
// the working folder.
func Submit(paths ...string) task.Submit {
	return task.Submit{Paths: paths, MaxBytes: 1 << 30, MaxFiles: 100_000}
}
