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
// Each concern that needs only a few values of a trial is a package below, which knows neither State
// nor Machine:
//
//   - trydir: the folders of a try on the host
//   - agentlog: the agent's output, within a bound
//   - install: what an agent needs in its container
//   - link: the two sockets that serve a container
//   - worktree: trees out of containers and images
//   - tryrounds: which rounds of a try count, and what they come to
//   - reference: what a task's own trees show of its judge
//   - mixedruns: rounds that are judged again with decoys
//   - scan: the look at what an agent did
//   - record: the records that tell what happens
//
// The package decides nothing about which trials should exist: reconcile does. Start
// reading at Machine.Step.
package trial
