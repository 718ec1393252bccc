// Package metrics has the numbers that Prometheus asks a daemon for, in a registry of their own. It alone imports
// Prometheus' client.
//
// Counters and histograms come from committed records: Run reads the records that were stored since the process
// began, by their numbers, each once. Work that stands in no record reports itself (told.go). Both begin at 0 in
// each process. Gauges are read when somebody asks, from snapshots and with a fixed number of queries.
//
// A label has values from a list that is known beforehand. What comes from elsewhere, as the name of a model does,
// is "other" where it is not declared. No trial, task, or path is ever a label, and a spec is one only while an
// execution of it is open.
//
// docs/metrics.md has all names; a test compares it, the rules, and the dashboard with the registry. Start reading
// at New.
package metrics
