// Package dockerfile says as a Dockerfile with its build context how the images of a task are
// made, and reads from those of others what a task has to know: the working folder, and which
// compose files come down to one container.
//
// It makes no image and talks to no engine. Start reading at Work and at Compose.
package dockerfile
