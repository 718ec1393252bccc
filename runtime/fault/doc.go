// Package fault is where a test build of assayd breaks: it dies at named steps, and writes
// that go through it fail, when the environment says so. In the ordinary build every
// function is empty and costs nothing.
//
// A test build is made with the tag "faults"; daemon's crash suite uses it. The package
// never decides which state is right after a fault: the tests do. Start reading at Point.
package fault
