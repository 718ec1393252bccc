// Package cli is the command line: a file a command.
//
// Commands parse flags, ask the daemon (one that runs, or for `run` one in this process)
// and show the answer: text for people, --json for programs, diagnostics on standard
// error. They decide nothing. Start reading at New.
package cli
