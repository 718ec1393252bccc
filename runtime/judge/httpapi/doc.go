// Package httpapi answers the requests of one trial's agent: it takes submissions, tells results, and
// passes on the moves of games. What comes in is hostile and bounded.
//
// It decides nothing about a submission, and shows an agent nothing but its own rounds of the present
// try. Start reading at New.
package httpapi
