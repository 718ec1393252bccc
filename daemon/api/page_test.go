package api

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"
)

// A cursor is read by the list that gave it, and by no other.
func TestACursorBelongsToItsList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := func(name string) *url.URL {
			filters := url.Values{}
			for k, v := range rapid.MapOfN(rapid.SampledFrom([]string{"stage", "reason", "x"}), rapid.String(), 0, 2).Draw(t, name) {
				filters.Set(k, v)
			}
			return &url.URL{Path: rapid.SampledFrom([]string{"/v1/runs", "/v1/specs"}).Draw(t, name+" path"), RawQuery: filters.Encode()}
		}
		own, other := address("own"), address("other")
		key := string(rapid.SliceOf(rapid.Byte()).Draw(t, "key")) // a path may be any bytes
		text := cursor(listOf(own), key)
		paged := *own
		paged.RawQuery += "&limit=3&after=" + text
		if got, err := parseCursor[string](text, listOf(&paged)); err != nil || got != key {
			t.Errorf("%q comes back as %q, %v", key, got, err)
		}
		if _, err := parseCursor[string](text, listOf(other)); (err == nil) != (own.Path == other.Path && own.Query().Encode() == other.Query().Encode()) {
			t.Errorf("the cursor of %s in %s: %v", own, other, err)
		}
	})
}

func FuzzCursorIsChecked(f *testing.F) {
	list := listOf(&url.URL{Path: "/v1/runs"})
	f.Add("", int64(0))
	f.Add("eyJsIjoiIn0", int64(1))
	f.Add(cursor(list, int64(7)), int64(7))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		if _, err := parseCursor[int64](text, list); err != nil {
			if _, kind := classify(err); kind != Invalid {
				t.Errorf("%q is %s: %v", text, kind, err)
			}
		}
		if got, err := parseCursor[int64](cursor(list, n), list); err != nil || got != n {
			t.Errorf("%d comes back as %d, %v", n, got, err)
		}
	})
}
