// Package evaluate has archives, patches, and solutions judged outside any trial, each in a session of its
// own: for users (Evaluate), for trials that need to know what the reference solution or the
// untouched tree shows (Reference, Broken, Sane, Decoys, Control: the functions of trial.Host of these
// names), for the check of tasks, and for mining (JudgeApart, JudgePatch).
//
// What a content shows is asked for once, whoever comes first, and kept in the store; an execution keeps
// what its first trial was told. Trouble of the machinery is no answer. An Evaluator has no goroutine of its
// own; what it makes ahead runs by Options.Go.
package evaluate
