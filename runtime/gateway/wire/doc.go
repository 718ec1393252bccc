// Package wire reads and writes the protocols of model providers: OpenAI's chat completions and
// responses, and Anthropic's messages.
//
// It says which endpoints a protocol has, and what a request asks for, takes at most, and would
// have the provider do by itself. A Meter reads an answer, whole or event by event, and counts
// its tokens: those that the provider tells, else an estimate.
//
// The package sends nothing, keeps nothing, and knows no prices. It trusts neither side: each
// text has a bound, and a number that cannot be is none. Start reading at Endpoints and Meter.
package wire
