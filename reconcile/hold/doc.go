// Package hold has what users hold back: holds, which of them a run or a mining spec is under, and what they say
// about themselves. A hold says "not yet" and never more than that: what files ask for, less the holds, is in force.
//
// Of sets it is pure; the store has the holds. It never decides who may hold what: package control does. Start
// reading at Hold and Set.
package hold
