// Package web serves the pages: it lets people in, asks the reader of package query, and has package page make the HTML.
//
// Pages are on the HTTP listener and on a socket of their own, never on the control socket. Each needs a session, which
// begins with a code from the command assayd web or with a token of the settings. A session reads: it changes nothing.
package web
