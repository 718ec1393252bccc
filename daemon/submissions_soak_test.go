//go:build soak

package daemon_test

import "testing"

// Eight hours of four trials that submit every minute.
func TestSoakEightHoursOfSubmissions(t *testing.T) {
	soak(t, 4, 8*60*4)
}
