package store

import (
	"fmt"
	"time"
)

// activitySchema has who asked for what, over all streams.
const activitySchema = `
CREATE TABLE activity (
	n      INTEGER PRIMARY KEY AUTOINCREMENT,
	at     INTEGER NOT NULL,
	action TEXT NOT NULL,
	target TEXT NOT NULL,
	by     TEXT NOT NULL,
	via    TEXT NOT NULL,
	reason TEXT NOT NULL
) STRICT;
`

// maxActivity is how much is kept; what is older is in the records of its target alone.
const maxActivity = 100_000

// ActivityRow is something that somebody has asked for and got.
type ActivityRow struct {
	N      int64     // in their order; set by AddActivity
	At     time.Time // set by AddActivity
	Action string
	Target string // "" = the pages themselves
	By     string
	Via    string
	Reason string
}

func scanActivity(r row) (x ActivityRow, err error) {
	return x, r.Scan(&x.N, moment{&x.At}, &x.Action, &x.Target, &x.By, &x.Via, &x.Reason)
}

// AddActivity adds a row, and drops the one that is then too old.
func (t *Tx) AddActivity(x ActivityRow) error {
	n, err := one(t, scanInt, "INSERT INTO activity (at, action, target, by, via, reason) VALUES (?, ?, ?, ?, ?, ?) RETURNING n",
		nanos(t.store.clock()), x.Action, x.Target, x.By, x.Via, string(t.store.encoder.Text([]byte(x.Reason))))
	if err == nil {
		_, err = t.exec("DELETE FROM activity WHERE n <= ?", n-maxActivity)
	}
	if err != nil {
		return fmt.Errorf("store that %s was asked for: %w", x.Action, err)
	}
	return nil
}

// ActivityBefore returns at most limit rows before the one numbered before, the latest first; 0 is before none.
func (t *Tx) ActivityBefore(before int64, limit int) ([]ActivityRow, error) {
	rows, err := list(t, scanActivity, "SELECT n, at, action, target, by, via, reason FROM activity WHERE n < ? OR ? = 0 ORDER BY n DESC LIMIT ?", before, before, limit)
	if err != nil {
		return nil, fmt.Errorf("read the activity: %w", err)
	}
	return rows, nil
}
