// Package terminalbench reads and writes tasks in the format of terminal-bench 1: a folder
// with task.yaml, a Dockerfile, a compose file, run-tests.sh, tests/ and a solution.
//
// There the tests run in the container that the agent leaves, with whatever network it has;
// here a submission, which is the working folder, is copied over a fresh copy of it. A task
// that is written keeps in task.yaml what only assayd knows; terminal-bench itself gives it an
// open network and takes what its tests print for the verdict.
//
// It never talks to an engine and never follows a link out of the folder. Start reading at
// Read and at Write.
package terminalbench
