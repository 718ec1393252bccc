// Package guest is what runs inside a work container.
//
// One static program under three names: assay-guest is the container's first process,
// which starts the agent, starts it again under the resume policy, ends it at the deadline
// and streams its output; assay-submit and sforge-submit are what the agent calls. The
// relay in between passes the agent's requests to the judge's socket. In judge containers
// assay-guest is the first process, too, and the daemon's way to a game server, to files that
// are to be removed and to processes that were left behind.
//
// This package is the supervisor, the relay, and the program that chooses by its name. Below it
// are protocol, which daemon and guest share, client for what the agent calls, judgecmd for
// commands in judge containers, and worktree and safefile, by which both read files.
//
// A guest holds no secret and decides no verdict: all it reports is a hint. It uses the
// standard library and nothing else, so that it runs in any image, and it never dies
// because the daemon is away.
//
// Start reading at the package protocol, then supervisor.go; the daemon uses Install.
package guest
