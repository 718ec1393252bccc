// Package gittest makes repositories for tests.
package gittest
