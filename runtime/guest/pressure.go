package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// cgroups is where a container sees its own control groups.
const cgroups = "/sys/fs/cgroup"

// limits are the bounds of the kernel that an agent can run into without an end of its
// container, and where the kernel counts how often: in version 2 of control groups, and in
// version 1.
var limits = []limit{
	{protocol.TroubleOOM, "oom_kill", []string{"memory.events", "memory/memory.oom_control"}, "%d processes were killed for want of memory"},
	{protocol.TroublePIDs, "max", []string{"pids.events", "pids/pids.events"}, "%d times a process could not be made: there were as many as may be"},
}

type limit struct {
	trouble string
	counter string
	files   []string
	text    string
}

// hit is how often the limit was run into; 0 also where nobody counts.
func (l limit) hit(root string) int {
	for _, name := range l.files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) != 2 || string(fields[0]) != l.counter {
				continue
			}
			if n, err := strconv.Atoi(string(fields[1])); err == nil {
				return n
			}
		}
	}
	return 0
}
