// Package modeltest is a provider of language models for tests: a server that speaks the
// real protocols and says what a script tells it to.
//
// It speaks OpenAI's chat completions and responses and Anthropic's messages, streamed and
// whole, as the programs that agents are made of need them. It reports exactly the usage
// that the script gives, breaks off, refuses and waits when told to, and keeps a record of
// all that it was asked. It never thinks, never sleeps and reaches nothing outside. Nothing
// here is linked into assayd. Start reading at Script and New; each protocol is one file.
package modeltest
