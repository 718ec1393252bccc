// Package tryrounds says of the rounds of one try which of them count, which are judged once more, and
// what their reports come to.
//
// All of it are functions of rounds and tasks. The package asks no judge, reads no store, and decides no
// status: a trial does, by what it finds here.
//
// Start reading at Counted and Resolves.
package tryrounds
