package store

import "fmt"

// MetaBelow returns what is stored under the keys that begin with a prefix, by key. The prefix ends
// with a slash.
func (t *Tx) MetaBelow(prefix string) (map[string]string, error) {
	type pair struct{ key, value string }
	rows, err := list(t, func(r row) (p pair, err error) {
		return p, r.Scan(&p.key, &p.value)
	}, "SELECT key, value FROM meta WHERE key > ? AND key < ?", prefix, prefix[:len(prefix)-1]+"0") // the sign after the slash
	if err != nil {
		return nil, fmt.Errorf("read what is stored under %q: %w", prefix, err)
	}
	all := make(map[string]string, len(rows))
	for _, p := range rows {
		all[p.key] = p.value
	}
	return all, nil
}

// DropMeta forgets a key; one that is not there is fine.
func (t *Tx) DropMeta(key string) error {
	if _, err := t.exec("DELETE FROM meta WHERE key = ?", key); err != nil {
		return fmt.Errorf("forget %q: %w", key, err)
	}
	return nil
}
