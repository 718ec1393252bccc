// Package tasklookup finds tasks in a set of specs by their addresses: benchmark.NAME["TASK"], benchmark.NAME.TASK, a whole
// benchmark, and the same of what a mining spec has mined so far.
//
// Its functions are pure: they read the set and nothing else. An address that means nothing is a *request.Mistake, with a
// suggestion. Start reading at Find.
package tasklookup
