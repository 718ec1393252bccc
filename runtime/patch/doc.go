// Package patch turns the difference of two trees into a unified diff in Git's format, and
// such a diff into the files that it changes.
//
// Trees are tars of a work directory, from a container or an archive, and hostile: they are
// unpacked below a folder of their own, where the host's Git runs without any configuration
// but ours, and Git's own folders in them count as absent. It never talks to an engine.
// Start reading at DiffService.
package patch
