//go:build soak

package daemon_test

import (
	"testing"

	"github.com/assayd/assayd/daemon"
)

func TestSoakEveryFormatIsJudgedTheSameWithoutOurNote(t *testing.T) {
	judgedWithoutOurNote(t, daemon.FormatNames()...)
}

func TestSoakMiningCanBeTriedOffline(t *testing.T) { minedOffline(t) }

func TestSoakTwelveHoursOfTroubleEndWithTheWholeCurve(t *testing.T) { twelveHours(t) }

func TestSoakEachAgentProgramThatIsKilledGoesOnWithItsSession(t *testing.T) {
	killedInTheMiddle(t, "claude-code", "codex", "opencode", "worker")
}
