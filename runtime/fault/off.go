//go:build !faults

package fault

// Reached says that a step was done. In a test build whose ASSAYD_FAULT_KILL names it, the
// process ends then and there, as by kill -9.
func Reached(Point) {}

// Err is what a write at the step must fail with; nil, but in a test build whose
// ASSAYD_FAULT_FULL names it.
func Err(Point) error { return nil }
