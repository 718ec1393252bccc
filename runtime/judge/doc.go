// Package judge accepts submissions and decides what they are worth: in a fresh hidden
// container each time, from an archive that was cleaned here and not by the sender.
//
// It owns the sessions, the queue, grading, selection and feedback, and the HTTP API that
// agents see. It never learns who the agent is and never stores anything by itself: the
// Ledger and Blobs given to New do. Start reading at Judge.
package judge
