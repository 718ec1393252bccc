// Package watchtest does to files and folders what people and programs do to them: the saves
// of editors, the swaps of links by git-sync and Kubernetes, and a real file system that
// never tells of a change.
//
// Only tests import it. Start reading at Saves.
package watchtest
