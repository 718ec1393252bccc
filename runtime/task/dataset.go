package task

import "io"

// Dataset is what a source holds that was written in one format.
type Dataset struct {
	Tasks    []Task    // by name; Benchmark is left to whoever imports them
	Problems []Problem // of what cannot be used; no problem hides another
	Notices  []Problem // of what a task that is used all the same loses or needs
}

// Problem is about one file or one task of a dataset.
type Problem struct {
	File string // slash-separated name in the source; "" = the source itself
	Line int    // 0 = not known
	Task string // that it is about; "" = all of the file's
	Text string
}

// Trees holds the folders that tasks refer to.
type Trees interface {
	// Keep stores a folder of this machine, links as links. It never follows one.
	Keep(dir string) (Tree, error)
	// Open returns a tree as an uncompressed tar.
	Open(Tree) (io.ReadCloser, error)
	// Clone returns a repository cut at its commit as an uncompressed tar of the work tree
	// with .git.
	Clone(Repo) (io.ReadCloser, error)
}

// ReadOptions say what to take of a dataset and how to complete it.
type ReadOptions struct {
	Wanted func(name string) bool // nil = all
	Trees  Trees
	// Image is for tasks of formats that name none.
	Image string
	// Forge is the base URL for repositories that are named as owner/name; "" = GitHub.
	Forge string
}

// A format's package has these two, where the format can be read and written:
//
//	func Read(dir string, o task.ReadOptions) task.Dataset
//	func Write(dir string, tasks []task.Task, trees task.Trees) ([]task.Problem, error)
//
// Read never follows a link out of dir, bounds what it reads, and says of every task what
// it cannot carry over: as a problem when the verdict would be another one, else as a
// notice. Write says in the same way, as problems, what the format cannot hold of a task;
// such a task is left out. What Write has written, Read gives back as the same tasks.
