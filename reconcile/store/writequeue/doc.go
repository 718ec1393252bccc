// Package writequeue orders the transactions that write to one database: one at a time, in the order in which they come, and
// those of a caller that many wait for before all others.
//
// It knows no database. Start reading at Queue.
package writequeue
