package store

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store/blob"
)

func putBlob(t *testing.T, b *blob.Blobs, content string) string {
	t.Helper()
	w, err := b.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	digest, size, err := w.Commit()
	if err != nil || size != int64(len(content)) {
		t.Fatalf("%s, %d bytes, %v", digest, size, err)
	}
	return digest
}

func TestOrphansAreOldBlobsThatNothingSpeaksOf(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b := s.Blobs()
	hour := time.Now().Add(-time.Hour)
	planted := func(name string, old bool) string {
		t.Helper()
		digest := putBlob(t, b, name)
		path, err := b.Path(digest)
		if err != nil {
			t.Fatal(err)
		}
		if at := hour.Add(-time.Minute); old {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return digest
	}
	inRow, inMeta, inLine, inList, inMind := planted("row", true), planted("meta", true), planted("line", true), planted("list", true), planted("mind", true)
	orphan, again, young := planted("orphan", true), planted("again", true), planted("young", false)
	do(t, s, func(tx *Tx) error {
		if err := tx.PutFile(FileRow{Path: "/a.hcl", Compiled: json.RawMessage(`{"Context":{"Digest":"` + inRow + `"}}`)}); err != nil {
			return err
		}
		if err := tx.PutMeta("x", "deadbeef"+inMeta); err != nil {
			return err
		}
		if _, err := tx.AppendLine(nightly, Envelope{Type: "x"}, map[string]string{"archive": "sha256:" + inLine}); err != nil {
			return err
		}
		long := append(make([]string, 40_000), inList)
		for i := range long[:40_000] {
			long[i] = strings.Repeat("t", 40)
		}
		_, err := tx.AppendLine(nightly, Envelope{Type: "x"}, map[string]any{"tests": long})
		return err
	})
	found, err := s.Orphans(t.Context(), hour, []byte("of "+inMind))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, o := range found {
		got[o.Digest] = o.Bytes
	}
	same(t, got, map[string]int64{orphan: 6, again: 5})
	putBlob(t, b, "again") // somebody wants it after all
	for _, o := range found {
		gone, err := b.Discard(o, hour)
		if err != nil || gone != (o.Digest == orphan) {
			t.Errorf("%s: gone %t, %v", o.Digest, gone, err)
		}
	}
	for _, digest := range []string{inRow, inMeta, inLine, inList, inMind, again, young} {
		if ok, err := b.Has(digest); !ok || err != nil {
			t.Errorf("%s is gone, %v", digest, err)
		}
	}
	if ok, err := b.Has(orphan); ok || err != nil {
		t.Errorf("the orphan is there, %v", err)
	}
}
