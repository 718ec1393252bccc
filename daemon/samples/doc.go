// Package samples remembers in memory what the daemon held of the machine in the last day, one sample every 30 seconds.
//
// It never writes a file, and a restart forgets everything. Metrics are for longer times. Start reading at Ring.
package samples
