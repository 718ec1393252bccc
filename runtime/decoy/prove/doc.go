// Package prove finds out which changed copies of hidden tests are decoys, by having them
// judged: once for a content, before anything is held against any solution.
//
// A variant is a decoy if the reference solution fails it in three of three runs, at an
// assertion, if no other test comes out differently meanwhile, if it takes no longer than
// twice the time, and if the untouched tree fails it where it fails the real test. Each is
// tried alone. A stock forger, by which assertions are no-ops, has to pass it. The proved set is
// then judged as a trial is: decoys that do not go together are taken out, and a set by which the
// reference itself does not come out clean is none.
//
// The package starts no container: a Lab judges for it. Start reading at Decoys.
package prove
