// Package tasktest is for tests of the formats of tasks: trees that are held in memory, and
// tasks that between them use every field. It is no part of the program. Start reading at
// All.
package tasktest
