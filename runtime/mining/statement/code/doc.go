// Package code reads patches as source text: their files and lines, the words and literals
// in what they write, and which names they define.
//
// It knows the looks of a dozen languages and the grammar of none: it splits text into
// tokens and goes by what stands beside what. So it may be wrong about odd code, never
// fails, and takes time in proportion to its input; patches are hostile. Start reading at
// Files and File.Tokens.
package code
