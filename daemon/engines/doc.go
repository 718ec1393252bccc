// Package engines opens container engines. It is the one package that names them: an engine is added as a
// package that implements the contract of runtime/container, and as a line of the table here. The line also
// says what the block of the engine in the settings may hold. A process works with one engine, which its
// settings choose. The package never asks an engine anything.
package engines
