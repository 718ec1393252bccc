package github

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Keep remembers what GitHub has answered, so that nothing is asked twice. Nil keeps nothing.
// Values are small: what was read from answers, not the answers themselves. A key whose last word
// is owner/name#12 is about that pull request, by the name that it was asked for by, and is of no
// use once it is decided.
type Keep interface {
	Get(key string) ([]byte, bool, error)
	// Put keeps values by their keys: all of them or, with an error or a crash, none. It is
	// what one answer told.
	Put(values map[string][]byte) error
}

// form is part of every key: what is kept is not read by a program that understands it
// otherwise.
const form = "2"

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
	n := notes{}
	if err := n.add(s, v, words...); err != nil {
		return err
	}
	return s.putAll(n)
}

// notes are values that are kept together, by their keys.
type notes map[string][]byte

func (n notes) add(s store, v any, words ...any) error {
	key := s.key(words...)
	text, err := json.Marshal(v)
	if err != nil {
		return &keepError{"keep " + key, err}
	}
	n[key] = text
	return nil
}

func (s store) putAll(n notes) error {
	if s.keep == nil || len(n) == 0 {
		return nil
	}
	if err := s.keep.Put(n); err != nil {
		return &keepError{"keep " + slices.Min(slices.Collect(maps.Keys(n))), err}
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
