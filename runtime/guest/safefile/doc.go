// Package safefile opens and writes files in folders of a container in which an agent may have put
// anything: links, pipes, devices.
//
// It never blocks on such a file, never follows a link in the last element of a path, and never
// leaves half a file where a reader looks for a whole one. Start reading at Open.
package safefile
