// Package kernel holds what Linux and macOS do in different ways: the identity of a file,
// writing a file system to its disk, and bounds of processes. The daemon is for Linux; on
// macOS the command line has to build, to check specs and to ask a daemon elsewhere.
// It never decides anything. Start reading at Stat.
package kernel
