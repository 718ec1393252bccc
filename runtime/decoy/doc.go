// Package decoy makes changed copies of single tests: one token differs, so that a right
// solution fails the copy where it passes the test.
//
// Propose finds hidden tests in the text of their files and says which token could become
// what. Apply makes a chosen set of these changes to a file. Whether a proposal is a decoy,
// that is whether it fails where it should and leaves other tests alone, only runs can show:
// this package runs nothing, reads no file, and is a function of its input.
//
// It works by tokens, not by grammars: one tokenizer (package source) that a table of languages
// drives, new values that are borrowed from the text (package replacement), and a file a language that knows where a test stands and which part of an
// assertion is expected. The text comes from repositories and is hostile: time is linear in
// it, sizes are bounded, and nothing panics.
//
// # Changes
//
// First what an assertion expects: a literal, also where a variable or the column of a table
// holds it. A new value comes from the literals of the same test, then of the file; a number
// moves by one, a word in a longer string becomes another word. Map keys, indices, messages,
// names of tests and of events stay, and no value is taken from them. Then come constants of
// the same type, what the test gives to the code, calls that are left out, and assertions
// that are turned round. An empty list becomes an empty map: two tokens, the only exception
// besides calls that are left out.
//
// What names the row of a table stays, for another name is another test. So a row of
// parametrize without an id keeps its plain values, and only the body of its function is
// changed, for all rows.
//
// # Tests without a variant
//
// Tests that assert nothing themselves, or only in functions that they share. Examples whose
// output stands in a comment, and those of documentation. Rows of a table that stands
// outside of the test, but in Go where no other test uses it.
//
// # What can still be told
//
// A replacement has the length of what it replaces wherever the literals of the test and
// its file allow that; Old and New of a Variant differ in length where they do not. A file with such a copy has
// another size than the real one. Nothing is padded: blanks or comments that only copies
// have would be the better sign. A copy is no secret to code that knows the real text.
//
// Start reading at Propose.
package decoy
