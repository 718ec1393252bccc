package store

import (
	"fmt"
	"time"
)

// controlSchema has what users hold back.
const controlSchema = `
CREATE TABLE holds (
	target TEXT NOT NULL,
	kind   TEXT NOT NULL,
	most   INTEGER NOT NULL,
	by     TEXT NOT NULL,
	via    TEXT NOT NULL,
	reason TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (target, kind)
) STRICT, WITHOUT ROWID;
`

// budgetSchema has what all models together cost by day, and holds of requests for models.
const budgetSchema = `
ALTER TABLE holds ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;

-- What exchanges of a day of UTC cost, in units of 1e-12 dollars.
CREATE TABLE spent_days (
	day TEXT PRIMARY KEY,
	usd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

// HoldRow is a hold: a user's "not yet" to what a target would begin.
type HoldRow struct {
	Target string // all, or an address of a run, a mining spec, or a provider
	Kind   string // of one kind a target has one
	Most   int
	Calls  bool // requests for models are held, too
	By     string
	Via    string
	Reason string
	Since  time.Time
	Until  time.Time // zero = until it is lifted
}

// PutHold stores a hold in place of the one of the same target and kind.
func (t *Tx) PutHold(h HoldRow) error {
	_, err := t.exec(`INSERT INTO holds (target, kind, most, calls, by, via, reason, since, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (target, kind) DO UPDATE SET most = excluded.most, calls = excluded.calls, by = excluded.by, via = excluded.via,
			reason = excluded.reason, since = excluded.since, until = excluded.until`,
		h.Target, h.Kind, h.Most, h.Calls, h.By, h.Via, string(t.store.encoder.Text([]byte(h.Reason))), nanos(h.Since), nanos(h.Until))
	if err != nil {
		return fmt.Errorf("store the hold of %s: %w", h.Target, err)
	}
	return nil
}

// DropHold forgets a hold; one that is not there is fine.
func (t *Tx) DropHold(target, kind string) error {
	if _, err := t.exec("DELETE FROM holds WHERE target = ? AND kind = ?", target, kind); err != nil {
		return fmt.Errorf("forget the hold of %s: %w", target, err)
	}
	return nil
}

// Holds returns all holds, by target and kind.
func (t *Tx) Holds() ([]HoldRow, error) {
	rows, err := list(t, func(r row) (h HoldRow, err error) {
		return h, r.Scan(&h.Target, &h.Kind, &h.Most, &h.Calls, &h.By, &h.Via, &h.Reason, moment{&h.Since}, moment{&h.Until})
	}, "SELECT target, kind, most, calls, by, via, reason, since, until FROM holds ORDER BY target, kind")
	if err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	return rows, nil
}
