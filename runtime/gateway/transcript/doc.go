// Package transcript keeps what an agent and its models said to each other: a file of JSON
// lines that grows as it happens, and the trajectory that is made of it at the end.
//
// Each exchange is two lines, its request and its answer, so that one that broke off is there
// as far as it came. Agents send their whole conversation with each request; the file has
// only its new part. The package never decides what an exchange cost: it is told.
// Start reading at Writer, and at Trajectory for the other direction.
package transcript
