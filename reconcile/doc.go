// Package reconcile makes the world match the specs: desired x observed x history -> plan
// -> actions -> status.
//
// One goroutine, the loop of Reconciler, owns the desired state and the list of living trials. It
// reads the store, asks plan.Diff (pure) for the actions on one spec, and carries them
// out. Trials run in goroutines of their own, each of them one trial.Machine. Events only
// say "look again": actions depend on the observed state, never on the event.
//
// What the loop owns are a few types with one task each: runs (the state of runs), observer, executions (carry out
// a plan), holds, minings, drain, and publisher. Only the loop's goroutine may use them.
//
// Its packages stand beside it and never import it:
//
//   - plan has the pure functions about runs, admission shares the machine, store is the database, ledger is what the
//     runtime must not forget, and history is how the store holds past work;
//   - query answers questions from the latest query/snapshot and the store, query/trialview those about one trial, and
//     query/summaries those about the figures of executions; request has the reasons for which a request is refused;
//   - summary and report have the figures, export and foreign the forms of others;
//   - evaluate judges outside trials, taskcheck checks tasks with that, and cheatscan looks through what agents did;
//   - specs accepts spec files, specfiles tells what may be made of files on the disk, pinned has the content of
//     executions, and miningspec carries out mining specs;
//   - cellindex knows which trials ask for something, workqueue which run is due, and drive has the trials that run;
//   - preview says what would be done, control and hold have what users ask for, and budget what may be spent;
//   - results writes records beside the files, retention removes data that is no longer needed, upgrade brings an
//     older store up to date, and troubles says which errors are news.
//
// It never parses HCL (config does) and never talks to an engine by itself, except to
// list the names of images. Start reading at plan.Diff, then Reconciler.
package reconcile
