package hour

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/assayd/assayd/runtime/mining/archive"
)

func TestAGeneratedHourIsLikeARealOne(t *testing.T) {
	var packed, again bytes.Buffer
	g, err := Generate(&packed, 8e6)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Generate(&again, 8e6); err != nil || same != g || !bytes.Equal(packed.Bytes(), again.Bytes()) {
		t.Errorf("the second time it is %+v, %v, and not %+v", same, err, g)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	events, pulls, merges, pullBytes := 0, 0, 0, 0
	for line := range bytes.Lines(text) {
		var e struct {
			Type    string
			Payload struct {
				PullRequest struct{ Merged bool } `json:"pull_request"`
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events++
		if e.Type == "PullRequestEvent" {
			pulls++
			pullBytes += len(line)
		}
		if e.Payload.PullRequest.Merged {
			merges++
		}
	}
	want := Generated{Bytes: int64(len(text)), Packed: int64(packed.Len()), events: events, pulls: pulls, Merges: merges}
	if diff := cmp.Diff(want, g, cmp.AllowUnexported(Generated{})); diff != "" {
		t.Error(diff)
	}
	for name, tc := range map[string]struct{ got, least, most float64 }{
		"bytes of an event":                   {float64(len(text)) / float64(events), 3300, 4300},
		"bytes of one of a pull request":      {float64(pullBytes) / float64(pulls), 16_000, 20_000},
		"share of such events":                {float64(pulls) / float64(events), 0.07, 0.11},
		"share of merges among them":          {float64(merges) / float64(pulls), 0.3, 0.5},
		"how many times smaller is it packed": {float64(len(text)) / float64(packed.Len()), 6.5, 8},
	} {
		if tc.got < tc.least || tc.got > tc.most {
			t.Errorf("%s: %v, want %v to %v", name, tc.got, tc.least, tc.most)
		}
	}
	told := 0
	counts, err := archive.Scan(t.Context(), &packed, func(archive.Merge) error { told++; return nil })
	if err != nil || told != merges {
		t.Errorf("%d merges are told, want %d, %v", told, merges, err)
	}
	if diff := cmp.Diff(archive.Counts{Bytes: want.Bytes, Lines: events, PullRequestEvents: pulls, Merged: merges}, counts); diff != "" {
		t.Error(diff)
	}
}
