// Package layer makes agent layers: folders with an agent's program and what it needs, made
// once, with network, before any trial, and mounted read-only into each container.
//
// A layer is named for what it is made from, is whole or not there, and never changes. It is
// made from packages of an npm registry that hold a native program, or from the files of a
// container image. A download is checked and unpacked here, in Go, within bounds: no
// script of a package is run, and no container takes part. Archives are taken to be hostile.
//
// The package starts no agent and knows no trial. Start reading at Store.Packages, and at For
// for which package an agent's program is in.
package layer
