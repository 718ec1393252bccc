// Package reconcile makes the world match the specs: desired x observed x history -> plan
// -> actions -> status.
//
// One goroutine, the loop of Reconciler, owns what is desired and which trials live; it
// reads the store, asks plan.Diff (pure) what is to be done about one spec, and carries that
// out. Trials run in goroutines of their own, each of them one trial.Machine. Events only
// say "look again": what is done depends on what is seen, never on what was told.
//
// Package plan has what is pure about runs, package history how the store holds what was done, and package ledger what
// the runtime must not forget.
//
// It never parses HCL (config does) and never talks to an engine by itself, except to
// list what a former daemon left behind. Start reading at plan.Diff, then Reconciler.
package reconcile
