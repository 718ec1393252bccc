// Package source cuts the text of a program into tokens, whatever the language.
//
// A table, Syntax, says how a language writes strings, comments, and operators. Tokenize is linear in
// the text and its tokens join to it. A File has the tokens without blanks and comments, and finds
// its way among brackets.
//
// The package knows no grammar and no test. The text is hostile: nothing panics, and other bytes
// are a token of kind Other. Start reading at Tokenize and File.
package source
