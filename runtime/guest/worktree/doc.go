// Package worktree reads the tree that an agent works in: which paths of it count, and whether it
// has changed since the last look.
//
// It never writes, never leaves the folder that it is given, and never looks into .git. A look is
// bounded in entries and bytes. Start reading at Hash.
package worktree
