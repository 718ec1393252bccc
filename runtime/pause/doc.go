// Package pause makes pauses between attempts.
package pause
