// Package archive reads archives of submissions and trees that the blob store keeps: it visits their files, and says which
// files differ in two of them, with unified diffs of texts.
//
// Archives are read as streams with bounds. It unpacks nothing on the disk, and it changes nothing. Start reading at Reader.
package archive
