package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

// How many items a page of a list has.
const (
	defaultLimit = 100
	maxLimit     = 500 // more is refused, so that nobody takes a cut list for all of it
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T       `json:"items"`
	Next  string    `json:"next,omitempty"` // what to ask for as after; absent = this is the last page
	AsOf  time.Time `json:"as_of"`          // when it was read
}

// place is what the items of a list are ordered by.
type place interface{ string | int | int64 }

// listOf identifies a list: its path and its filters.
func listOf(u *url.URL) []byte {
	filters := u.Query()
	filters.Del("after")
	filters.Del("limit")
	sum := sha256.Sum256([]byte(u.Path + "?" + filters.Encode()))
	return sum[:listSize]
}

// listSize is how long listOf is, in bytes.
const listSize = 6

// cursor says where a page begins: behind the item at a place. It belongs to one list with its
// filters. A place may be any bytes: paths of files are.
func cursor[K place](list []byte, at K) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Append(list[:listSize:listSize], at))
}

func parseCursor[K place](text string, list []byte) (at K, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < listSize {
		return at, invalidf("after=%q is no cursor: take it from next of the page before", text)
	}
	if !bytes.Equal(raw[:listSize], list) {
		return at, invalidf("after=%q is a cursor of another list, or of other filters", text)
	}
	key := string(raw[listSize:])
	switch to := any(&at).(type) {
	case *string:
		*to = key
	case *int:
		*to, err = strconv.Atoi(key)
	case *int64:
		*to, err = strconv.ParseInt(key, 10, 64)
	}
	if err != nil {
		return at, invalidf("after=%q is no cursor: %w", text, err)
	}
	return at, nil
}

// servePage answers with a page of a list. Read returns at most n items that come behind the one
// with the key, the first ones being behind the zero key.
func servePage[T any, K place](w http.ResponseWriter, q *http.Request, key func(T) K, read func(ctx context.Context, after K, n int) ([]T, error)) {
	p, err := readPage(q, key, read)
	answer(w, p, err)
}

func readPage[T any, K place](q *http.Request, key func(T) K, read func(ctx context.Context, after K, n int) ([]T, error)) (p Page[T], err error) {
	limit, err := Number(q, "limit", defaultLimit)
	if err != nil {
		return p, err
	}
	if limit < 1 || limit > maxLimit {
		return p, invalidf("limit=%d: it must be between 1 and %d", limit, maxLimit)
	}
	var after K
	list := listOf(q.URL)
	if text := q.URL.Query().Get("after"); text != "" {
		if after, err = parseCursor[K](text, list); err != nil {
			return p, err
		}
	}
	p.AsOf = clock.Now().UTC()
	items, err := read(q.Context(), after, limit+1)
	if err != nil {
		return p, err
	}
	if len(items) > limit { // there is more
		items = items[:limit]
		p.Next = cursor(list, key(items[limit-1]))
	}
	p.Items = append([]T{}, items...)
	return p, nil
}
