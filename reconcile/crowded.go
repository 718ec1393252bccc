package reconcile

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Room says in a line where the machine keeps fewer trials of a planned run at work than its
// `parallel` allows, and by which setting; "" = nowhere.
func (p Plan) Room(parallel int, l Limits) string {
	var needs []Need
	for _, a := range p.Actions {
		if a.Kind == StartTrial && a.Cell.whole != nil {
			work := a.Cell.Whole().Task.Work
			needs = append(needs, Need{CPUs: work.CPUs, Memory: work.Memory})
		}
	}
	share := l.workShare()
	var held Need
	for n, need := range needs[:min(len(needs), parallel)] {
		with := held.plus(need, 1)
		bound := ""
		switch {
		case n == 0: // one is always admitted
		case l.Containers > 0 && n >= l.Containers:
			bound = fmt.Sprintf("%d containers are the most at once; the setting is limits { containers }", l.Containers)
		case l.CPUs > 0 && with.CPUs > share.CPUs+slack:
			bound = fmt.Sprintf("a trial takes %s, and agents have %s of %s; less is work { cpus } in the run, more is limits { cpus, judge } in the settings",
				inCPUs(need.CPUs), inCPUs(share.CPUs), inCPUs(l.CPUs))
		case l.Memory > 0 && with.Memory > share.Memory:
			bound = fmt.Sprintf("a trial takes %s, and agents have %s of %s; less is work { memory } in the run, more is limits { memory, judge } in the settings",
				bytesOf(need.Memory), bytesOf(share.Memory), bytesOf(l.Memory))
		}
		if bound != "" {
			return fmt.Sprintf("%s: room for %s at a time, where parallel allows %d: %s\n", p.Address, english.Plural(n, "trial", ""), parallel, bound)
		}
		held = with
	}
	return ""
}

func bytesOf(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
