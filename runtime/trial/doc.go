// Package trial is the life of one trial as a state machine, one transition a call.
//
//	pending ── images ── create ── await ── running ── closing ── grading ── private ── mixed ── verdict ── cleanup ── done
//	               │         │        │         │          │           │                          ▲
//	               │         │        │         │          │           └──────────────────────────┤ (no private set, no decoys)
//	               └─────────┴────────┴─────────┴──────────┴──▶ (setup_error,                     │
//	                                                    infra_error, cancelled) ──────────────────┘
//
// In single mode there is a phase sanity after images, in which the untouched tree is judged.
//
// Step makes one transition and returns the new State with the records that report it;
// the caller stores both in one transaction before it calls Step again. A crash between
// two steps repeats at most the last one, and every step is safe to repeat: containers are
// created by a deterministic name and adopted, submissions carry idempotency keys, the
// deadline is fixed once, and moved by users alone.
//
// The package decides nothing about which trials should exist: reconcile does. Start
// reading at Machine.Step.
package trial
