// Package preview says what would be done if some spec files were in force: the plan of each run, how its content differs
// from that of its execution, and what would start costs at most. It never stores or begins anything.
package preview
