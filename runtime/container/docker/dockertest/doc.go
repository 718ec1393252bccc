// Package dockertest gives tests a real Docker engine that cleans up after them. It fails
// a test when there is no Docker to be had, and leaves one out with -short alone. Start
// reading at New.
package dockertest
