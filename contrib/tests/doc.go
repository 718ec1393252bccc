// Package tests holds no code of its own, only the tests of run, the script that make test runs
// the tests with: what it runs again, and what it never lets pass.
package tests
