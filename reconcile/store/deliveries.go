package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// deliverySchema has how far each of those has got that are told of records, and what notices tell of that is in
// no record.
const deliverySchema = `
CREATE TABLE deliveries (
	name    TEXT PRIMARY KEY,
	n       INTEGER NOT NULL,
	state   TEXT NOT NULL,
	failing INTEGER NOT NULL,
	why     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE notices (
	n    INTEGER PRIMARY KEY,
	time INTEGER NOT NULL,
	kind TEXT NOT NULL,
	spec TEXT NOT NULL,
	data BLOB NOT NULL
) STRICT;
`

// noticesTopic is touched where a notice is stored; it is in no list of topics.
const noticesTopic = "notices"

// maxNotices is how many notices are kept. A row is stored where a budget or the machine changes, so that is years.
const maxNotices = 10000

// Delivery is how far one has got that is told of records.
type Delivery struct {
	Name    string
	N       int64     // number of the last change that it was told of
	State   string    // its own, small
	Failing time.Time // since when it cannot be told; zero = it can
	Why     string    // it cannot
}

func scanDelivery(r row) (d Delivery, err error) {
	return d, r.Scan(&d.Name, &d.N, &d.State, moment{&d.Failing}, &d.Why)
}

// Delivery returns how far the one of that name has got, or ErrNotFound.
func (t *Tx) Delivery(name string) (Delivery, error) {
	d, err := one(t, scanDelivery, "SELECT name, n, state, failing, why FROM deliveries WHERE name = ?", name)
	if err != nil {
		return d, fmt.Errorf("read the deliveries to %q: %w", name, err)
	}
	return d, nil
}

// BeginDelivery returns how far the one of that name has got. A new one begins with what is stored from now on.
func (t *Tx) BeginDelivery(name string) (Delivery, error) {
	d, err := t.Delivery(name)
	if !errors.Is(err, ErrNotFound) {
		return d, err
	}
	d = Delivery{Name: name}
	if d.N, err = t.Last(); err != nil {
		return d, err
	}
	return d, t.PutDelivery(d)
}

// PutDelivery stores how far one has got. Watchers are not told of it.
func (t *Tx) PutDelivery(d Delivery) error {
	_, err := t.exec(`INSERT INTO deliveries (name, n, state, failing, why) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET n = excluded.n, state = excluded.state, failing = excluded.failing, why = excluded.why`,
		d.Name, d.N, d.State, nanos(d.Failing), string(t.store.encoder.Text([]byte(d.Why))))
	if err != nil {
		return fmt.Errorf("store the delivery to %q: %w", d.Name, err)
	}
	return nil
}

// DropDelivery forgets how far one has got; one that is not there is fine.
func (t *Tx) DropDelivery(name string) error {
	if _, err := t.exec("DELETE FROM deliveries WHERE name = ?", name); err != nil {
		return fmt.Errorf("forget the deliveries to %q: %w", name, err)
	}
	return nil
}

// Deliveries returns how far all have got, by name.
func (t *Tx) Deliveries() ([]Delivery, error) {
	all, err := list(t, scanDelivery, "SELECT name, n, state, failing, why FROM deliveries ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("read the deliveries: %w", err)
	}
	return all, nil
}

// Notice is something to tell that is in no record: of a budget, or of the machine.
type Notice struct {
	N    int64 // number of the change that stored it
	Time time.Time
	Kind string
	Spec string // "" = it is about the machine
	Data []byte
}

// AddNotice stores a notice, and forgets the oldest ones beyond ten thousand.
func (t *Tx) AddNotice(x Notice) error {
	_, err := t.exec("INSERT INTO notices (n, time, kind, spec, data) VALUES (?, ?, ?, ?, ?)", t.next(), nanos(x.Time), x.Kind, x.Spec, t.store.encoder.Text(x.Data))
	if err == nil {
		_, err = t.exec("DELETE FROM notices WHERE n <= (SELECT n FROM notices ORDER BY n DESC LIMIT 1 OFFSET ?)", maxNotices)
	}
	if err != nil {
		return fmt.Errorf("store a notice of %s: %w", x.Kind, err)
	}
	t.touch(noticesTopic, change.Records)
	return nil
}

// NoticesBetween returns at most limit notices that were stored after change n, and up to change last, in order.
func (t *Tx) NoticesBetween(n, last int64, limit int) ([]Notice, error) {
	all, err := list(t, func(r row) (x Notice, err error) {
		return x, r.Scan(&x.N, moment{&x.Time}, &x.Kind, &x.Spec, &x.Data)
	}, "SELECT n, time, kind, spec, data FROM notices WHERE n > ? AND n <= ? ORDER BY n LIMIT ?", n, last, limit)
	if err != nil {
		return nil, fmt.Errorf("read notices after change %d: %w", n, err)
	}
	return all, nil
}
