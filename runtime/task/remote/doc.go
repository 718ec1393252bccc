// Package remote brings datasets that lie elsewhere to this machine: Git repositories, archives
// and files over HTTP, and datasets of the hub. It also unpacks archives that lie here.
//
// A copy is whole or not there. It is of one revision, whose name is kept with it; a copy
// that was begun goes on after a restart where the source lets it. All that comes from outside is taken
// to be hostile: names and links lead nowhere, everything is bounded and compared with the
// checksums that there are, and a token goes to the host that it is for and to no other.
//
// The package reads no format and never decides when to fetch. Start reading at Store.Fetch.
package remote
