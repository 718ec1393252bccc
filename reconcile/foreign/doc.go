// Package foreign writes what other harnesses would say of a run in single mode: swe-forge's summary and
// SWE-bench's report. It reads the store and the latest snapshot. Run is its one goroutine.
package foreign
