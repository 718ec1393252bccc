// Package output writes mined tasks in the formats that others read, and keeps the list of the
// pull requests that have been decided.
//
// With one format its dataset is the folder itself; with several each has a folder of its name
// in it:
//
//	sweforge  <task>/workspace.yaml, prompt.md, checks.txt, tests/, provenance.json
//	harbor    <task>/task.toml, instruction.md, environment/, tests/, solution/, provenance.json
//	sforge    BENCHMARK.yaml, <task>.json
//	swebench  sweb.yaml, tasks/<task>/…, instances.jsonl, test.parquet
//	parquet   test.parquet, with the rows of SWE-bench
//
// A task appears whole or not at all, in the place of what there was of its name, and writing
// it again changes nothing; the other tasks of a dataset stay. A crash between two formats
// leaves the task in the first, and to write it again puts that right. Where it comes from
// stands in its metadata, which every format keeps; the names of tests that are left out are in
// provenance.json alone.
//
// The package decides nothing about a task. Datasets belong to the user that set the folder: a file
// in the way there is reported and never removed, but for a task that says itself that it is the
// one to be removed. Start reading at Write and ReadPRs.
package output
