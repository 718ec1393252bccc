// Package arch holds no code of its own: its tests keep the shape of the repository. Who
// may import whom, one importing package for each SDK, a package comment everywhere, a
// reason for every dependency, no type that does everything, units that systemd accepts.
//
// The tables in imports_test.go are the rules; a new package is entered there first.
package arch
