// Package gitsync keeps a folder of specs equal to a branch, a tag or a commit of a Git
// repository, and gives back what became of it: a status for each commit and, on a branch of
// their own, the result files.
//
// The folder is a plain tree without a .git, submodules included. It changes in one step, as
// the reconciler sees it: a reader holds it, and a change that a crash left half done is completed
// before anybody looks. When a remote cannot be reached, a branch is gone or a commit cannot
// be checked out, the last good commit stays. Files that are not of the repository, such as result
// files, are never removed.
//
// It runs the git command, never a library, with nothing of the user's configuration, and it
// keeps tokens out of arguments, addresses, files and logs. It decides nothing about specs.
// Start reading at Syncer.Run.
package gitsync
