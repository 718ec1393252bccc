// Package gittest makes repositories for tests, and serves them.
package gittest
