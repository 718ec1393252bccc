// Package runner knows the programs that run tests: whose names of tests are whose, which
// command lines run them, and which files a patch of tests touches. All is text in and text
// out; it reads no file and starts nothing. Start reading at Guess and Command.
package runner
