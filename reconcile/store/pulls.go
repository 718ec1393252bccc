package store

import (
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// PullRow is a pull request that a mining spec has seen.
type PullRow struct {
	N         int64  // in the order in which they were seen; given by FindPull
	Spec      string // address of the mining spec
	Repo      string // owner/name
	Number    int
	Verdict   string // "" = open
	Stage     string // that decided
	Reason    string
	Class     string // classification
	Task      string // that it became
	SeenAt    time.Time
	DecidedAt time.Time
}

const pullColumns = "n, spec, repo, number, verdict, stage, reason, class, task, seen_at, decided_at"

func scanPull(r row) (p PullRow, err error) {
	return p, r.Scan(&p.N, &p.Spec, &p.Repo, &p.Number, &p.Verdict, &p.Stage, &p.Reason, &p.Class, &p.Task,
		moment{&p.SeenAt}, moment{&p.DecidedAt})
}

// FindPull stores a pull request as open, unless the spec has seen it before.
func (t *Tx) FindPull(spec, repo string, number int) (fresh bool, err error) {
	n, err := t.exec("INSERT INTO pulls (spec, repo, number, seen_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		spec, repo, number, nanos(t.store.clock()))
	if err == nil && n > 0 {
		err = t.touchTopic(spec, change.Pulls)
	}
	if err != nil {
		return false, fmt.Errorf("store pull request %s#%d of %q: %w", repo, number, spec, err)
	}
	return n == 1, nil
}

// DecidePull stores what was decided about an open pull request. One that is decided stays as
// it is; one that is not stored is ErrNotFound.
func (t *Tx) DecidePull(p PullRow) (first bool, err error) {
	n, err := t.exec(`UPDATE pulls SET verdict = ?, stage = ?, reason = ?, class = ?, task = ?, decided_at = ?
		WHERE spec = ? AND repo = ? AND number = ? AND verdict = ''`,
		p.Verdict, p.Stage, p.Reason, p.Class, p.Task, nanos(t.store.clock()), p.Spec, p.Repo, p.Number)
	if err == nil && n == 0 {
		_, err = t.Pull(p.Spec, p.Repo, p.Number)
	}
	if err == nil && n > 0 {
		err = t.touchTopic(p.Spec, change.Pulls)
	}
	if err != nil {
		return false, fmt.Errorf("decide about pull request %s#%d of %q: %w", p.Repo, p.Number, p.Spec, err)
	}
	return n == 1, nil
}

// Pull returns a pull request that a spec has seen, or ErrNotFound.
func (t *Tx) Pull(spec, repo string, number int) (PullRow, error) {
	return one(t, scanPull, "SELECT "+pullColumns+" FROM pulls WHERE spec = ? AND repo = ? AND number = ?", spec, repo, number)
}

// OpenPulls returns at most limit open pull requests of a spec, behind the one numbered after.
func (t *Tx) OpenPulls(spec string, after int64, limit int) ([]PullRow, error) {
	rows, err := list(t, scanPull,
		"SELECT "+pullColumns+" FROM pulls WHERE spec = ? AND verdict = '' AND n > ? ORDER BY n LIMIT ?", spec, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read open pull requests of %q: %w", spec, err)
	}
	return rows, nil
}

// PullsFrom returns at most limit pull requests of a spec, behind the one numbered after, in the
// order in which they were seen.
func (t *Tx) PullsFrom(spec string, after int64, limit int) ([]PullRow, error) {
	rows, err := list(t, scanPull, // by n: no index of specs is in that order
		"SELECT "+pullColumns+" FROM pulls WHERE +spec = ? AND n > ? ORDER BY n LIMIT ?", spec, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read pull requests of %q: %w", spec, err)
	}
	return rows, nil
}

// ReopenPulls opens the pull requests again that were decided for a reason, and returns how many.
func (t *Tx) ReopenPulls(spec, reason string) (int64, error) {
	n, err := t.exec(`UPDATE pulls SET verdict = '', stage = '', reason = '', decided_at = 0
		WHERE spec = ? AND verdict <> '' AND reason = ?`, spec, reason)
	if err != nil {
		return 0, fmt.Errorf("open pull requests of %q again: %w", spec, err)
	}
	return n, nil
}

// PullCount is how many pull requests of a spec are alike; those without a verdict are open.
type PullCount struct {
	Verdict, Stage, Reason, Class string
	N                             int
}

// PullCounts counts the pull requests that a spec has seen.
func (t *Tx) PullCounts(spec string) ([]PullCount, error) {
	rows, err := list(t, func(r row) (c PullCount, err error) {
		return c, r.Scan(&c.Verdict, &c.Stage, &c.Reason, &c.Class, &c.N)
	}, `SELECT verdict, stage, reason, class, n FROM pull_counts WHERE spec = ? AND n > 0
		ORDER BY verdict, stage, reason, class`, spec)
	if err != nil {
		return nil, fmt.Errorf("count pull requests of %q: %w", spec, err)
	}
	return rows, nil
}

// AcceptedByRepo is how many tasks a spec has of each repository.
func (t *Tx) AcceptedByRepo(spec string) (map[string]int, error) {
	type count struct {
		repo string
		n    int
	}
	rows, err := list(t, func(r row) (c count, err error) { return c, r.Scan(&c.repo, &c.n) },
		"SELECT repo, count(*) FROM pulls WHERE spec = ? AND task <> '' GROUP BY repo", spec)
	if err != nil {
		return nil, fmt.Errorf("count tasks of %q: %w", spec, err)
	}
	all := map[string]int{}
	for _, c := range rows {
		all[c.repo] = c.n
	}
	return all, nil
}

// Answer returns what the outside has answered under a key, or ErrNotFound.
func (t *Tx) Answer(spec, pull, key string) ([]byte, error) {
	return one(t, func(r row) (b []byte, err error) { return b, r.Scan(&b) },
		"SELECT value FROM answers WHERE spec = ? AND pull = ? AND key = ?", spec, pull, key)
}

// PutAnswer keeps what the outside has answered.
func (t *Tx) PutAnswer(spec, pull, key string, value []byte) error {
	_, err := t.exec(`INSERT INTO answers (spec, pull, key, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (spec, pull, key) DO UPDATE SET value = excluded.value`, spec, pull, key, t.store.encoder.Text(value))
	if err != nil {
		return fmt.Errorf("keep answer %q of %q: %w", key, spec, err)
	}
	return nil
}

// Named is a value under a key.
type Named struct {
	Key   string
	Value []byte
}

// Answers returns what is nobody's own under all keys that begin so.
func (t *Tx) Answers(spec, prefix string) ([]Named, error) {
	rows, err := list(t, func(r row) (n Named, err error) { return n, r.Scan(&n.Key, &n.Value) },
		"SELECT key, value FROM answers WHERE spec = ? AND pull = '' AND substr(key, 1, length(?2)) = ?2 ORDER BY key", spec, prefix)
	if err != nil {
		return nil, fmt.Errorf("read answers of %q: %w", spec, err)
	}
	return rows, nil
}

// DropAnswers forgets the answers about a pull request.
func (t *Tx) DropAnswers(spec, pull string) error {
	if _, err := t.exec("DELETE FROM answers WHERE spec = ? AND pull = ?", spec, pull); err != nil {
		return fmt.Errorf("forget the answers about %s of %q: %w", pull, spec, err)
	}
	return nil
}

// MinedRow is a task that was mined.
type MinedRow struct {
	N    int64
	Spec string
	Task string // its name
	Data []byte // JSON
}

// PutMined stores a task in place of one of its name.
func (t *Tx) PutMined(m MinedRow) error {
	data, err := t.store.encoder.Column(m.Data)
	if err == nil {
		_, err = t.exec(`INSERT INTO mined (spec, task, data) VALUES (?, ?, ?)
			ON CONFLICT (spec, task) DO UPDATE SET data = excluded.data`, m.Spec, m.Task, data)
	}
	if err != nil {
		return fmt.Errorf("store task %q of %q: %w", m.Task, m.Spec, err)
	}
	return nil
}

// Mined returns the tasks of a spec, "" being all specs, the first one first.
func (t *Tx) Mined(spec string) ([]MinedRow, error) {
	rows, err := list(t, func(r row) (m MinedRow, err error) { return m, r.Scan(&m.N, &m.Spec, &m.Task, &m.Data) },
		"SELECT n, spec, task, data FROM mined WHERE ?1 IN (spec, '') ORDER BY n", spec)
	if err != nil {
		return nil, fmt.Errorf("read tasks of %q: %w", spec, err)
	}
	return rows, nil
}

// Environment returns how a repository with these lock files is installed, or ErrNotFound.
func (t *Tx) Environment(repo, lock string) (string, error) {
	return one(t, scanString, "SELECT data FROM environments WHERE repo = ? AND lock = ?", repo, lock)
}

// PutEnvironment keeps how a repository with these lock files is installed.
func (t *Tx) PutEnvironment(repo, lock, data string) error {
	_, err := t.exec(`INSERT INTO environments (repo, lock, data) VALUES (?, ?, ?)
		ON CONFLICT (repo, lock) DO UPDATE SET data = excluded.data`, repo, lock, string(t.store.encoder.Text([]byte(data))))
	if err != nil {
		return fmt.Errorf("keep the environment of %s: %w", repo, err)
	}
	return nil
}
