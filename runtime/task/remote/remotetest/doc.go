// Package remotetest plays, for tests, a dataset hub with a host of its own for large files, and
// makes archives and Git repositories that can be fetched. It is no part of the program. Start
// reading at Hub.
package remotetest
