// Package troubles says of errors that are met again and again whether they are news, so that each is logged once until
// it changes or is over. It never writes to a log.
package troubles
