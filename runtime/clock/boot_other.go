//go:build !linux

package clock

import "time"

// machine cannot know the boot here, so that the wall clock takes a line's place.
func machine() (boot string, up time.Duration) { return rebooted(""), 0 }
