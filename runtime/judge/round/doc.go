// Package round holds the values of a round that all parts of a judge share: a submission, its
// report, the terms of a session, a refusal, and the interfaces of the stores that keep them.
//
// It decides which round an offer gets, from these values alone. It starts nothing, reads no
// archive, and knows no container. Start reading at Submission, Report, and Decide.
package round
