// Package pinned compiles runs with the content that their executions began with: versions of files, and what names
// of images mean. The store has the compiled file of a version, once for each content; an execution names its
// versions in layers, of which a later one has the tasks that were pinned again.
package pinned
