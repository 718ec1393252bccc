// Package folder is what formats have in common whose tasks are folders: reading one that
// strangers made, bounded and never by a link that leads out of it, writing one, the note
// that keeps what a format has no place for, and the checks of a task that comes out of all
// that. Start reading at Root, Writer and Note.
package folder
