// Package github talks to the API of GitHub, for all that needs it: it alone knows the
// client library, whose types appear nowhere else.
//
// Tokens never leave it but as a header of a request. Start reading at Client.
package github
