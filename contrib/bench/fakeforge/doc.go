// Package fakeforge is what the bench mines from: an archive, GitHub, and a model that answer at once,
// and repositories on this disk.
//
// It reaches no network. All servers tell the same of the same pull requests. Start reading at New.
package fakeforge
