// Package github talks to the API of GitHub, for all that needs it: it alone knows the
// client library, whose types appear nowhere else.
//
// It finds merged pull requests (Search, Merged) and completes them (Pulls): in batches by
// GraphQL, else by REST, with several tokens, each within its limits. What GitHub answers is
// remembered through a Keep, so that a call which ends early is repeated and asks only for
// the rest. It never waits long: when every limit is used up it returns *Paused.
//
// Tokens never leave it but as a header of a request to that one host. Start reading at Client; api.send is
// what every request of mining goes through.
package github
