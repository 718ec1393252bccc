package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

// pushed is an event of another kind, with what is looked for in a text of its.
const pushed = `{"id":"45193146683","type":"PushEvent","actor":{"id":1},"repo":{"id":2,"name":"a/b"},"payload":{"commits":[{"message":"{\"type\":\"PullRequestEvent\",\"payload\":{\"action\":\"merged\"}}"}]},"public":true}`

// timeline is the beginning of an hour of 2012.
const timeline = `{"repository":{"name":"calc","owner":"acme"},"actor_attributes":{"login":"ann"},"created_at":"2012/04/11 15:01:38 -0700","public":true,"actor":"ann","payload":{"action":"closed","number":7,"pull_request":3},"type":"PullRequestEvent"}`

func pack(t testing.TB, lines ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// numbered is a merge of another number.
func numbered(n int) string {
	return with(trimmed, `"number":7`, fmt.Sprintf(`"number":%d`, n), `"id":"7625801196"`, fmt.Sprintf(`"id":"%d"`, n))
}

// scanAll scans and returns the numbers of what it is told.
func scanAll(t testing.TB, r io.Reader) (numbers []int, counts Counts, err error) {
	t.Helper()
	counts, err = Scan(t.Context(), r, func(m Merge) error {
		numbers = append(numbers, m.Number)
		return nil
	})
	return numbers, counts, err
}

func TestScanTellsEachMergeOnce(t *testing.T) {
	blanks := strings.Repeat(" ", 9<<20) // more than a line may have
	big := with(trimmed, "ann/fix", strings.Repeat("x", 3<<20))
	for name, tc := range map[string]struct {
		lines []string
		want  []int
		is    Counts // without its bytes
	}{
		"merges of both eras among others":      {[]string{pushed, trimmed, full, pushed, ""}, []int{7, 6196}, Counts{Lines: 4, PullRequestEvents: 2, Merged: 2}},
		"no newline at the end":                 {[]string{pushed, trimmed}, []int{7}, Counts{Lines: 2, PullRequestEvents: 1, Merged: 1}},
		"nor after another event":               {[]string{trimmed, pushed}, []int{7}, Counts{Lines: 2, PullRequestEvents: 1, Merged: 1}},
		"lines that end as those of Windows":    {[]string{pushed + "\r", trimmed + "\r", "\r"}, []int{7}, Counts{Lines: 2, PullRequestEvents: 1, Merged: 1}},
		"blank lines":                           {[]string{"", "", trimmed, "", ""}, []int{7}, Counts{Lines: 1, PullRequestEvents: 1, Merged: 1}},
		"the same event again":                  {[]string{trimmed, pushed, trimmed}, []int{7}, Counts{Lines: 3, PullRequestEvents: 2, Merged: 1, Duplicates: 1}},
		"another event of the same":             {[]string{trimmed, with(trimmed, "7625801196", "8", "acme/calc", "Acme/Calc")}, []int{7}, Counts{Lines: 2, PullRequestEvents: 2, Merged: 1, Duplicates: 1}},
		"the same number elsewhere":             {[]string{trimmed, with(trimmed, `"acme/calc"`, `"acme/calc2"`)}, []int{7, 7}, Counts{Lines: 2, PullRequestEvents: 2, Merged: 2}},
		"closed and opened ones":                {[]string{with(trimmed, `"merged"`, `"closed"`), with(trimmed, `"merged"`, `"opened"`)}, nil, Counts{Lines: 2, PullRequestEvents: 2}},
		"lines that are none":                   {[]string{"hello", trimmed, trimmed[:100], "{}"}, []int{7}, Counts{Lines: 4, PullRequestEvents: 1, Merged: 1, Malformed: 2}},
		"a merge of 3 MB":                       {[]string{pushed, big, numbered(8)}, []int{7, 8}, Counts{Lines: 3, PullRequestEvents: 2, Merged: 2}},
		"a merge of more than 8 MB":             {[]string{pushed, with(trimmed, "ann/fix", strings.Repeat("x", 9<<20)), numbered(8)}, []int{8}, Counts{Lines: 3, PullRequestEvents: 1, Merged: 1, TooLong: 1}},
		"white space of as much":                {[]string{blanks, trimmed, blanks}, []int{7}, Counts{Lines: 3, PullRequestEvents: 1, Merged: 1, TooLong: 2}},
		"another event of any length":           {[]string{with(pushed, `"public"`, `"long":"`+blanks+`","public"`), trimmed}, []int{7}, Counts{Lines: 2, PullRequestEvents: 1, Merged: 1}},
		"nothing":                               {nil, nil, Counts{}},
		"an event that begins as no other does": {[]string{with(trimmed, `{"id":"7625801196",`, `{`), with(pushed, `{"id"`, `{ "id"`)}, []int{7}, Counts{Lines: 2, PullRequestEvents: 1, Merged: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			numbers, counts, err := scanAll(t, bytes.NewReader(pack(t, tc.lines...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, numbers); diff != "" {
				t.Error(diff)
			}
			tc.is.Bytes = int64(len(strings.Join(tc.lines, "\n")))
			if diff := cmp.Diff(tc.is, counts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestItDoesNotMatterHowAFileComes(t *testing.T) {
	text := strings.Join([]string{pushed, trimmed, full, "hello", with(pushed, `"id"`, ` "id"`), "", numbered(8)}, "\n")
	for size := 1; size <= len(text); size++ {
		var numbers []int
		s := &scanner{told: &told{pass: 1, last: map[string]int{}}, first: true, each: func(m Merge) error {
			numbers = append(numbers, m.Number)
			return nil
		}}
		for part := []byte(text); len(part) > 0; {
			n := min(size, len(part))
			window := bytes.Clone(part[:n])
			if _, err := s.Write(window); err != nil {
				t.Fatal(err)
			}
			clear(window) // what was written is not the scanner's any more
			part = part[n:]
		}
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{7, 6196, 8}, numbers); diff != "" {
			t.Errorf("in windows of %d bytes: %s", size, diff)
		}
		if diff := cmp.Diff(Counts{Bytes: int64(len(text)), Lines: 6, PullRequestEvents: 3, Merged: 3, Malformed: 1}, s.counts); diff != "" {
			t.Errorf("in windows of %d bytes: %s", size, diff)
		}
	}
}

func TestDamageEndsAnHourAfterWhatWasBeforeIt(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = numbered(i + 1)
	}
	whole := pack(t, append(many, "")...)
	flipped := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 0xff
		return b
	}
	one := pack(t, trimmed, "")
	for name, tc := range map[string]struct {
		file        []byte
		least, most int // merges
	}{
		"no byte":                        {nil, 0, 0},
		"half a header":                  {one[:5], 0, 0},
		"no gzip":                        {[]byte("<html>it is elsewhere</html>"), 0, 0},
		"plain text":                     {[]byte(trimmed + "\n"), 0, 0},
		"cut in the middle":              {whole[:len(whole)/2], 500, 1500},
		"cut in the sum at the end":      {whole[:len(whole)-5], 2000, 2000},
		"a sum that is wrong":            {flipped(len(whole) - 6), 2000, 2000},
		"a length that is wrong":         {flipped(len(whole) - 1), 2000, 2000},
		"something behind it":            {append(bytes.Clone(one), "and more"...), 1, 1},
		"half a file behind it":          {append(bytes.Clone(one), whole[:100]...), 1, 10},
		"a byte in the middle":           {flipped(len(whole) / 2), 500, 2000},
		"a line that was not told whole": {pack(t, trimmed)[:len(pack(t, trimmed))-30], 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			numbers, counts, err := scanAll(t, bytes.NewReader(tc.file))
			d, ok := errors.AsType[*Damaged](err)
			if !ok {
				t.Fatalf("it ends with %v", err)
			}
			if d.At != counts.Bytes || d.Err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%v after %d of %d bytes", err, d.At, counts.Bytes)
			}
			if n := len(numbers); n < tc.least || n > tc.most || n != counts.Merged {
				t.Errorf("%d merges are told, %d counted, want %d to %d", n, counts.Merged, tc.least, tc.most)
			}
		})
	}
}

func TestFilesInSeveralPartsAreOne(t *testing.T) {
	file := append(pack(t, trimmed[:300]), pack(t, trimmed[300:], full, "")...)
	numbers, _, err := scanAll(t, bytes.NewReader(file))
	if diff := cmp.Diff([]int{7, 6196}, numbers); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestTheTimelineIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		file []string
		want error
	}{
		"objects with nothing between them":       {[]string{timeline + timeline + timeline}, ErrTimeline},
		"more of them than fit in a line":         {[]string{strings.Repeat(timeline, (9<<20)/len(timeline))}, ErrTimeline},
		"one a line":                              {[]string{timeline, timeline}, ErrTimeline},
		"one alone":                               {[]string{"", timeline}, ErrTimeline},
		"an actor that is a text later":           {[]string{trimmed, timeline}, nil},
		"the same after an event of another kind": {[]string{pushed, timeline}, nil},
		"no event":                                {[]string{"hello"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := scanAll(t, bytes.NewReader(pack(t, tc.file...))); !errors.Is(err, tc.want) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestErrorsEndAScanAsTheyAre(t *testing.T) {
	own := errors.New("own")
	file := pack(t, trimmed, full, numbered(8))
	t.Run("of who is told", func(t *testing.T) {
		calls := 0
		counts, err := Scan(t.Context(), bytes.NewReader(file), func(Merge) error {
			if calls++; calls == 2 {
				return own
			}
			return nil
		})
		if !errors.Is(err, own) || calls != 2 || counts.Merged != 1 {
			t.Errorf("it ends with %v after %d calls and %d merges", err, calls, counts.Merged)
		}
	})
	t.Run("of the reader", func(t *testing.T) {
		r := io.MultiReader(bytes.NewReader(file[:len(file)-3]), iotest.ErrReader(own))
		if numbers, _, err := scanAll(t, r); !errors.Is(err, own) || len(numbers) != 2 {
			t.Errorf("it ends with %v after %d merges", err, len(numbers))
		}
	})
	t.Run("of the context", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(own)
		if _, err := Scan(ctx, bytes.NewReader(file), func(Merge) error { return nil }); !errors.Is(err, own) {
			t.Errorf("it ends with %v", err)
		}
	})
}

func TestAnHourHasBounds(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		s := &scanner{counts: Counts{Bytes: maxBytes - 1}}
		if _, err := s.Write([]byte("ab")); err == nil || !strings.Contains(err.Error(), "unpacks to more") {
			t.Errorf("it ends with %v", err)
		}
	})
	t.Run("merges", func(t *testing.T) {
		before := &told{last: make(map[string]int, maxMerges)}
		for i := range maxMerges {
			before.last[fmt.Sprint(i)] = 1
		}
		_, err := scan(t.Context(), bytes.NewReader(pack(t, trimmed)), before, func(Merge) error { return nil })
		if _, ok := errors.AsType[*Damaged](err); !ok {
			t.Errorf("it ends with %v", err)
		}
	})
}

// FuzzScan reads what is no file of an archive.
func FuzzScan(f *testing.F) {
	file := pack(f, pushed, trimmed, full)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, file []byte) {
		numbers, counts, err := scanAll(t, bytes.NewReader(file))
		if len(numbers) != counts.Merged {
			t.Errorf("%d merges are told, %d counted, %v", len(numbers), counts.Merged, err)
		}
	})
}
