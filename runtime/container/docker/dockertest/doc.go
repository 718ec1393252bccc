// Package dockertest gives tests a real Docker engine that cleans up after them. It fails
// a test, and never skips it, when there is no Docker to be had. Start reading at New.
package dockertest
