// Package apitest checks answers of the API against its description, for tests.
//
// It never changes an answer. Start reading at Transport.
package apitest
