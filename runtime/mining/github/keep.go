package github

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Keep remembers what GitHub has answered, so that nothing is asked twice. Nil keeps nothing.
// Values are small: what was read from answers, not the answers themselves.
type Keep interface {
	Get(key string) ([]byte, bool, error)
	Put(key string, value []byte) error
}

// form is part of every key: what is kept is not read by a program that understands it
// otherwise.
const form = "1"

// store is a Keep for one installation of GitHub.
type store struct {
	keep Keep
	host string
}

func (s store) key(words ...any) string {
	return "github/" + form + " " + s.host + " " + strings.TrimSuffix(fmt.Sprintln(words...), "\n")
}

// get reads what is kept into v, and tells whether there is anything.
func (s store) get(v any, words ...any) (bool, error) {
	if s.keep == nil {
		return false, nil
	}
	key := s.key(words...)
	text, ok, err := s.keep.Get(key)
	if err == nil && ok {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, &keepError{"recall " + key, err}
	}
	return ok, nil
}

func (s store) put(v any, words ...any) error {
	if s.keep == nil {
		return nil
	}
	key := s.key(words...)
	text, err := json.Marshal(v)
	if err == nil {
		err = s.keep.Put(key, text)
	}
	if err != nil {
		return &keepError{"keep " + key, err}
	}
	return nil
}

// keepError says that what is kept cannot be read or written.
type keepError struct {
	what string
	why  error
}

func (e *keepError) Error() string { return fmt.Sprintf("%s: %v", e.what, e.why) }
func (e *keepError) Unwrap() error { return e.why }

// once asks for what is not kept, and keeps it.
func once[T any](s store, ask func() (T, error), words ...any) (v T, err error) {
	ok, err := s.get(&v, words...)
	if ok || err != nil {
		return v, err
	}
	if v, err = ask(); err != nil {
		return v, err
	}
	return v, s.put(v, words...)
}
