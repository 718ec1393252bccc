// Package sweforge reads and writes the workspace folders of swe-forge, and writes the summary
// of its harness.
//
// A workspace is judged by the commands of its two lists, unless it names tests too, in keys of
// ours (fail_to_pass_tests, pass_to_pass_tests, test_command, log_parser): then the commands are
// for swe-forge's own harness and are made of the names, or are the whole test_command where no
// line runs a test by its name (TAP, JUnit, CTRF, Django). That harness puts meta.test_files in
// place and no test_patch: the files that the patch makes are in both, where the task's metadata has
// them, and only the patch counts here. A copy lies where its id says, as swe-forge's does, and has
// no image where the import said it. The files of swe-forge have their tests in meta.test_files, and often
// once more in the reference patch; its parquet files lack both the tests and the commands that
// install, so that nothing can be judged by them. What the keys cannot say of a task that Write
// is given stands in a key "assayd", which counts only as long as the other keys are what Write
// makes of it. The text of the pull request is kept in the metadata and shown to no agent.
//
// The one-file tasks of SweInfinite are rows of SWE-bench: package swebench reads them.
//
// It never talks to an engine, never follows a link out of the folder, and bounds what it reads.
// Start reading at Read, Write and Summary.
package sweforge
