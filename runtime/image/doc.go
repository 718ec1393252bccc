// Package image makes base, work and judge images.
//
// An image is named after what it is made of: the hash of its recipe, with the id of the
// image it starts from, is its tag, so that an image that is present need not be built.
// Building uses the primitives of a container.Engine only: a container is started from
// the parent, files are copied into it, setup commands run in it one by one, and it is
// committed. What the judge image adds is never near the work image: the arrow goes from
// work to judge and nowhere else.
//
// The package never decides when to build, never removes an image and knows no registry
// protocol. Start reading at Builder.
package image
