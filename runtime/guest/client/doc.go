// Package client is what an agent calls in its container: assay-submit, the hook that its program
// asks before it stops, and the oracle, the built-in agent that submits the known solution.
//
// All of them run as the agent's user and reach the judge only through the relay. They know no
// secret but the trial's own token, never decide a verdict, and use the standard library and
// nothing else. A judge that is away is waited for.
//
// Start reading at submit.go.
package client
