// Package image makes base, work and judge images.
//
// An image is named after what it is made of: the hash of its recipe, with the id of the
// image it starts from, is its tag, so that an image that is present need not be built.
// The task is no part of that: tasks whose recipes are equal have one image, with a
// name for each task and one that they share.
// Building uses the primitives of a container.Engine only: a container is started from
// the parent, files are copied into it, setup commands run in it one by one, and it is
// committed. What the judge image adds is never near the work image: the arrow goes from
// work to judge and nowhere else.
//
// A part may be made from the text of a Dockerfile instead, which is followed here, instruction
// by instruction, in the same way; and the hidden tests of a judge may come as a patch.
//
// Repositories are cut and audited in package clone; Dockerfiles are read in package dockerfile.
//
// What the settings give to commands (secrets, mirrors, a proxy) decides no name and stays in
// no image. Registries are reached through the engine.
//
// The package never decides when to build or which images are needed, and never removes an image that
// another owner built. Start reading at Builder; Batch does what the command line asks for,
// Collect removes.
package image
