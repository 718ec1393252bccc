// Package install puts into a trial's container what its agent needs: the program of a built-in agent,
// the files of an image, or an image that is made of the work image by setup steps.
//
// The package starts no agent, changes no work image, and chooses no version: the agent and its layer
// say which. The same content is made once and found again.
//
// Start reading at Installer.Install.
package install
