package admission

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Bound says in a line how many of these containers the machine keeps at work at once, and by which
// setting, where that is fewer than parallel allows; "" = it is not.
func (l Limits) Bound(needs []Need, parallel int) string {
	if n, bound := l.Fits(needs, parallel); bound != "" {
		return fmt.Sprintf("room for %s at a time, where parallel allows %d: %s", english.Plural(n, "trial", ""), parallel, bound)
	}
	return ""
}

// Fits is how many of these containers the machine keeps at work at once, parallel at most, and which setting keeps it
// from more; "" = none does.
func (l Limits) Fits(needs []Need, parallel int) (n int, bound string) {
	share := l.workShare()
	var held Need
	for i, need := range needs[:min(len(needs), parallel)] {
		with := held.plus(need, 1)
		switch {
		case i == 0: // one is always admitted
		case l.Containers > 0 && i >= l.Containers:
			bound = fmt.Sprintf("%d containers are the most at once; the setting is limits { containers }", l.Containers)
		case l.CPUs > 0 && with.CPUs > share.CPUs+slack:
			bound = fmt.Sprintf("a trial takes %s, and agents have %s of %s; less is work { cpus } in the run, more is limits { cpus, judge } in the settings",
				inCPUs(need.CPUs), inCPUs(share.CPUs), inCPUs(l.CPUs))
		case l.Memory > 0 && with.Memory > share.Memory:
			bound = fmt.Sprintf("a trial takes %s, and agents have %s of %s; less is work { memory } in the run, more is limits { memory, judge } in the settings",
				bytesOf(need.Memory), bytesOf(share.Memory), bytesOf(l.Memory))
		}
		if bound != "" {
			return i, bound
		}
		held = with
	}
	return min(len(needs), parallel), ""
}

func bytesOf(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
