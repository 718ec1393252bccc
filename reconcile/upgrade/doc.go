// Package upgrade brings the store up to date that an earlier version wrote: keys of trials, marks of superseded ones,
// and the cells that lists and counts read. It does so in parts, and the next daemon goes on where one ended.
//
// It never changes a record of the results, and it never asks whether a trial goes on.
package upgrade
