// Package untar reads tars that others made: of registries, datasets, agents, and tasks. It bounds their entries
// and checks their names. It never writes a file, and the callers bound the bytes of the content.
package untar
