// Package reason says why pull requests become no task: a code from a closed list for the
// records, and words for people. All stages of mining use it, and it uses nothing.
package reason
