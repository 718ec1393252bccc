// Package trace sends what trials do as spans to a collector of OpenTelemetry, over OTLP and HTTP. It alone imports
// OpenTelemetry.
//
// A trial outlives the process, so no span is held open: a span is made when the record that ends it is committed, with
// the times of the records (build.go), and those of its exchanges with models from the transcript, when the try is over
// (chat.go). The ids of traces and spans come from the trial, the try, and the numbers of records and exchanges: a
// daemon that was killed goes on in the same trace, and a span that is sent twice is the same span.
//
// Only names and numbers are sent, never what an agent, a model, or a test wrote.
//
// Start reading at Tracer.
package trace
