// Package notifier tells receivers elsewhere what happens: a run that is finished, a budget that is nearly used up, a
// machine that fails trials.
//
// Notices are made of records that are committed, in their order (notice.go). Facts that are in no record, as how much of a
// budget is used and whether the container engine answers, are watched and stored as notices of their own (watch.go,
// machine.go). Each notifier has a cursor in the store that moves after the receiver has taken a message, so neither a
// killed daemon nor a receiver that is away loses a notice; a receiver may get one twice, with the same id.
//
// It never sends what agents, tests, or users wrote: texts have names and numbers alone. It never follows a redirect,
// and never logs an address or a key, because these allow others to send, too.
//
// Start reading at Notifiers.
package notifier
