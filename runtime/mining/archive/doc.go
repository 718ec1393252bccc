// Package archive reads GH Archive, or a mirror of it: files of all public events of an hour
// on GitHub, of which it tells the pull requests that were merged.
//
// An hour streams: it is fetched, unpacked and searched at once, with the same small memory
// whatever its size, and nothing of it is kept on disk. Lines are looked at as bytes, and only
// those of pull requests are read as JSON, as far as it takes to see that they are no merge.
// What an archive holds is hostile, and so is its server.
//
// The package remembers nothing from one hour to the next, and never asks GitHub. Which hours
// are wanted, and which are gaps, are functions of what its caller has kept. Start reading at
// Archive.Hour and Source.Hours.
package archive
