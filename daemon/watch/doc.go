// Package watch says when it is time to look at the watched folders again.
//
// A pulse carries no news: whoever receives it reads the folders and compares with what
// was there before, so that a lost or a doubled event costs nothing. The package watches
// directories and never files, survives atomic saves, folders that go and come back,
// links that are swapped anywhere on the way to a root, and queues that overflow; a
// periodic pulse covers what gives no events at all (network file systems, folders that
// may not be read, more folders than the kernel lets us watch).
//
// It never reads a file, knows nothing of specs and decides nothing about presence or
// absence. Start reading at Run.
package watch
