// Package judgecmd has the commands that the daemon runs with the guest in a judge's container,
// beside the first process: a connection to a server, removing and comparing files, killing the
// processes that a run left behind.
//
// They know nothing of trials, keep nothing, and use the standard library and nothing else. None
// follows a link out of its folder, and none kills anything on a machine that no guest holds.
//
// Each file is a command. Start reading at dial.go.
package judgecmd
