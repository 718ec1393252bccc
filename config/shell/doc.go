// Package shell hands a text to a line of a shell without having the shell read it as a part of the
// line. It takes the line apart, and puts an expansion where the line names the text: what an
// expansion gives is not read again.
//
// It never runs a shell, and it never quotes the text itself. Start reading at [Bind].
package shell
