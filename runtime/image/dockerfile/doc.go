// Package dockerfile reads Dockerfiles of one stage, and picks files from their build contexts.
//
// The parser is Docker's own. Read gives the instructions; Expand, Inline, Copied, and Added say
// what one of them means. A Context knows which entries of a tree a COPY means and where each goes,
// with .dockerignore; a Load writes them as a tar.
//
// The package never runs an instruction, opens no file, and reaches no network: whoever builds
// the image does. What is wrong with a text is a Mistake. Start reading at Read and Context.
package dockerfile
