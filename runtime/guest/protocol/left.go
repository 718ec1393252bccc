package protocol

import "time"

// Left is what a trial still has, as GET LeftPath answers; zero is no limit.
type Left struct {
	Seconds int64   `json:"seconds_left"`
	USD     float64 `json:"usd_left"`
	Tokens  int64   `json:"tokens_left"`
}

// LeftPath is where the daemon tells an agent what its trial still has.
const LeftPath = "/api/v1/left"

// ClockEnv is the variable that keeps for assay-submit what the deadline is a time of: the
// wall clock as it was when the agent was started, a clock.Timeline as JSON.
const ClockEnv = "ASSAYD_CLOCK"

// SecondsLeft counts whole seconds; without a deadline, and after it, there are none.
func SecondsLeft(now, deadline time.Time) int64 {
	if deadline.IsZero() {
		return 0
	}
	return max(0, int64(deadline.Sub(now)/time.Second))
}

// StopAnswer says whether an agent may stop: the answer of the guest at StopAddr.
type StopAnswer struct {
	Stop    bool
	Seconds int64 // left
}
