// Package engines opens container engines. It is the one package that names them: an engine is added as
// a package that implements the contract of runtime/container, and as a line of the table here. It
// never asks an engine anything.
package engines
