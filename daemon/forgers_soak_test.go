//go:build soak && linux

package daemon_test

import "testing"

func TestSoakForgersCannotTellWhichTestsAreReal(t *testing.T) {
	forgersAreFound(t, append(pythons(), morePythons()...))
}
