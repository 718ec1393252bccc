// Package swebench reads and writes tasks as SWE-bench and its relatives keep them: rows of
// JSON Lines, JSON or parquet, and the task repository of version 5. It also reads and writes
// predictions and writes reports.
//
// Rows of SWE-bench (all versions), SWE-Gym, SWE-rebench (both) and Multi-SWE-bench are
// understood; what needs conda, a rebuild before its tests, or SWE-bench Pro's scripts is
// refused. A row with image and eval_script is judged by that script in that image,
// up to the end of its tests and by their exit code; output before them does not
// count. Any other is a repository, cut at its commit, over which the test patch is put. A
// column that has no meaning here is kept in the metadata of the task. What the columns cannot say of a
// task that Write is given stands in a column "assayd", which counts only as long as the other
// columns are what Write makes of it: whoever edits a row gets what the row says.
//
// Grading is stricter than SWE-bench's in one point: a declared test has to pass, so one of
// PASS_TO_PASS that is skipped does not count as passed.
//
// Conventions for names: predictions of a run are all_preds.jsonl, trajectories lie in
// trajs/<instance_id>.json beside it, the report of a run is <model>.<run>.json, and that of an
// instance is logs/run_evaluation/<run>/<model>/<instance_id>/report.json.
//
// It never talks to an engine, never follows a link out of the source, and bounds what it
// reads. Start reading at Read, Write, ReadPredictions and NewReport.
package swebench
