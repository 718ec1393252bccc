package drive

import (
	"context"
	"fmt"
	"strconv"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// unseenDisk is reserved for a container of a task of which none was seen, in bytes.
const unseenDisk = 1 << 30

// needOf is what is reserved for a trial. Few containers take the disk that they may: of it the
// most is reserved that was seen with the task, and a fifth.
func (t *Trials) needOf(ctx context.Context, s trial.State) (admission.Need, error) {
	work := s.Cell.Task.Work
	n := admission.Need{CPUs: work.CPUs, Memory: work.Memory, Disk: unseenDisk}
	err := t.o.Store.View(ctx, func(tx *store.Tx) error {
		seen, err := seenDisk(tx, s)
		if seen > 0 {
			n.Disk = seen + seen/5
		}
		return err
	})
	if work.Disk > 0 {
		n.Disk = min(n.Disk, work.Disk)
	}
	return n, err
}

func diskKey(s trial.State) string { return "disk/" + plan.TaskAddressOf(s) }

// seenDisk is the most that a container of the trial's task was seen to take; 0 = none was seen.
func seenDisk(tx *store.Tx, s trial.State) (int64, error) {
	text, err := tx.Meta(diskKey(s))
	if err != nil || text == "" {
		return 0, err
	}
	seen, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read what disk %s takes: %w", plan.TaskAddressOf(s), err)
	}
	return seen, nil
}

// noteDisk keeps what the trial's container took for the next ones of its task.
func noteDisk(tx *store.Tx, s trial.State) error {
	seen, err := seenDisk(tx, s)
	if err != nil || s.DiskSeen <= seen {
		return err
	}
	return tx.PutMeta(diskKey(s), strconv.FormatInt(s.DiskSeen, 10))
}
