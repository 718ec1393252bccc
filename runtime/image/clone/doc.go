// Package clone cuts clones of remote repositories for images, and audits repositories in images.
//
// Mirrors keeps a copy of each repository, so that a second task of it needs little or no network.
// A clone has one branch at one commit, and not one object that the commit does not lead to: no
// fix of tomorrow is in it. What a crash leaves goes at the next start.
//
// The package never runs what a repository brings: no hooks, no configuration, no program of a
// URL. It shows no secret of the settings in an error. Start reading at Mirrors.Cut and audit.
package clone
