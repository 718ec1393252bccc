// Package store keeps what must survive the daemon: executions, trials, submissions, the
// specs as last accepted, and every line that was reported. It holds one embedded database
// and a content-addressed blob store in one state directory, which one daemon at a time owns.
//
// An effect and the line that reports it are stored in one transaction (Do), so nothing is
// reported that did not happen and nothing happens unreported. The JSONL files are a
// projection of the stored lines; package results writes them. Rows carry opaque JSON for
// whatever only their owner understands.
//
// Its parts are packages: blob has the blobs, record the form of lines and columns, change the watchers of commits,
// writequeue the order of those who write, and statedir the lock of the directory and the names of its failures.
//
// It decides nothing, runs nothing, and no SQL leaves it. Start reading at Store and Tx;
// streams.go is the outbox of lines.
package store
