// Package proof shows by execution that a task is sound: its tests fail on the untouched tree
// and pass with the fix, each time, as tests do and not because nothing runs; they look at what
// the code does and not at its text; and what the fix does is needed for them to pass.
//
// Everything follows from the reports of a Run, which judges in fresh containers, so that the
// same reports give the same proof. The package itself starts nothing and keeps nothing. A fix
// and its tests are hostile: they are taken apart as text and never executed here.
//
// What no run can show is not proved: a test that calls the code and asserts nothing of it is
// seen only where no part of the fix makes it fail. Start reading at Prove.
package proof
