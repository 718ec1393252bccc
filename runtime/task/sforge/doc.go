// Package sforge reads benchmarks in SForge's format: a folder with BENCHMARK.yaml and one
// JSON file a task. It gives plain tasks, with the image names that SForge computes, and
// says of every file that it cannot use what is wrong with it; no file hides another.
//
// The setup_cmds of a dataset run in build containers, with a network and with the secrets
// that the setting build gives to commands of tasks: do not import a dataset that may not have
// those. The files that are read here reach nothing else of the host.
//
// It never talks to an engine and never follows a link out of the folder. What it reads is
// hostile: sizes, depths and expansions are bounded. Start reading at Read.
package sforge
