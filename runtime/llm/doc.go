// Package llm asks chat models for function calls: every answer is a call of one of the
// tools that are offered, with arguments that fit its schema, or an error that says what
// is wrong.
//
// It speaks the chat completions that most providers understand, and it alone knows the
// client library. It holds no keys (whoever passes the transport puts them in), tries
// nothing twice by itself, and keeps nothing. What a model answers is hostile: it is
// bounded and looked at before anybody gets it. Start reading at Model.Ask and Fill.
package llm
