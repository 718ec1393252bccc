// Package worktree reads the trees that agents work in: out of a container as an agent left it, and out
// of a work image as an agent finds it.
//
// It also runs the script of a task's own solution in a fresh container, and reads what that leaves. A
// tree of an agent is hostile: Clean reads it under the rules of submissions.
//
// The package freezes no container, submits nothing, and keeps no file under a name: a killed daemon
// leaves nothing behind.
//
// Start reading at Reader and Stream.
package worktree
