package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// server answers requests in memory, with one answer after the other; the last one stays.
type server struct {
	t       *testing.T
	answers []http.HandlerFunc
	asked   []string // ranges; "" = the whole file
	when    []time.Duration
	began   time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.String() != "http://archive.test/x/2026-03-01-4.json.gz" || q.Header.Get("Accept-Encoding") != "identity" || q.Header.Get("User-Agent") == "" {
		s.t.Errorf("%s is asked with %v", q.URL, q.Header)
	}
	if len(s.asked) == 0 {
		s.began = time.Now()
	}
	answer := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, q.Header.Get("Range"))
	s.when = append(s.when, time.Since(s.began))
	r := &recorder{ResponseRecorder: httptest.NewRecorder(), cut: -1}
	answer(r, q)
	if r.err != nil {
		return nil, r.err
	}
	if r.mute {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	res := r.Result()
	if r.cut >= 0 {
		head, err := io.ReadAll(io.LimitReader(res.Body, int64(r.cut)))
		if err != nil {
			s.t.Error(err)
		}
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(head), r.end(q.Context())))
	}
	return res, nil
}

type recorder struct {
	*httptest.ResponseRecorder
	err  error // instead of an answer
	mute bool  // no answer comes
	cut  int   // bytes of the body that come; -1 = all
	hang bool  // after them nothing comes, not even an end
}

func (r *recorder) end(ctx context.Context) io.Reader { return ending{ctx, r.hang} }

type ending struct {
	ctx  context.Context
	hang bool
}

// Read implements io.Reader.
func (e ending) Read([]byte) (int, error) {
	if e.hang {
		<-e.ctx.Done()
		return 0, e.ctx.Err()
	}
	return 0, io.ErrUnexpectedEOF
}

// The answers.

// file is one, with a mark if it has one.
func file(content []byte, mark string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		if mark != "" {
			w.Header().Set("ETag", mark)
		}
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(content))
	}
}

// whole is a file of a server that knows no ranges.
func whole(content []byte, mark string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		q.Header.Del("Range")
		file(content, mark)(w, q)
	}
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "<html>words</html>")
	}
}

func cut(n int, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		answer(w, q)
		w.(*recorder).cut = n
	}
}

func hang(n int, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		cut(n, answer)(w, q)
		w.(*recorder).hang = true
	}
}

func mute(w http.ResponseWriter, _ *http.Request) { w.(*recorder).mute = true }

func refuse(w http.ResponseWriter, _ *http.Request) {
	w.(*recorder).err = errors.New("connection refused")
}

func times(n int, answer http.HandlerFunc) []http.HandlerFunc {
	return slices.Repeat([]http.HandlerFunc{answer}, n)
}

// manyMerges packs those with the numbers.
func manyMerges(t *testing.T, from, to int) []byte {
	var lines []string
	for n := from; n < to; n++ {
		lines = append(lines, numbered(n))
	}
	return pack(t, append(lines, "")...)
}

func numbersTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func TestAnHourIsReadFromServersOfAllKinds(t *testing.T) {
	const tag = `"one"`
	content := manyMerges(t, 1, 401)
	other := manyMerges(t, 1, 501)
	half := len(content) / 2
	rest := fmt.Sprintf("bytes=%d-", half)
	ok := file(content, tag)
	dated := func(w http.ResponseWriter, q *http.Request) {
		http.ServeContent(w, q, "", at("06:00"), bytes.NewReader(content))
	}
	wrong := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Range", where)
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content[half:])
		}
	}
	short := func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", half, half+99, len(content)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[half : half+100])
	}
	for name, tc := range map[string]struct {
		answers []http.HandlerFunc
		asked   []string
		merges  int
		least   time.Duration // that it takes
		err     string
	}{
		"it answers at once":                                    {[]http.HandlerFunc{ok}, []string{""}, 400, 0, ""},
		"it has no time for a while":                            {append(times(3, status(503)), ok), []string{"", "", "", ""}, 400, 4 * time.Second, ""},
		"it cannot be reached for a while":                      {append(times(3, refuse), ok), []string{"", "", "", ""}, 400, 4 * time.Second, ""},
		"it wants not to be asked for two minutes":              {[]http.HandlerFunc{status(429, "Retry-After", "120"), ok}, []string{"", ""}, 400, 2 * time.Minute, ""},
		"it forbids for now":                                    {[]http.HandlerFunc{status(403, "Retry-After", "5"), ok}, []string{"", ""}, 400, 5 * time.Second, ""},
		"it wants not to be asked for longer than one can wait": {times(2, status(429, "Retry-After", "3600")), []string{""}, 0, 0, "429"},
		"it says a page first":                                  {[]http.HandlerFunc{status(200, "Content-Type", "text/html; charset=utf-8"), ok}, []string{"", ""}, 400, 0, ""},
		"it says nothing":                                       {[]http.HandlerFunc{mute, ok}, []string{"", ""}, 400, time.Minute, ""},
		"it breaks off":                                         {[]http.HandlerFunc{cut(half, ok), ok}, []string{"", rest}, 400, 0, ""},
		"it breaks off, and has no time":                        {[]http.HandlerFunc{cut(half, ok), status(502), ok}, []string{"", rest, rest}, 400, time.Second, ""},
		"it breaks off again and again":                         {[]http.HandlerFunc{cut(half, ok), cut(0, ok), cut(100, ok), ok}, []string{"", rest, rest, fmt.Sprintf("bytes=%d-", half+100)}, 400, 0, ""},
		"it falls silent":                                       {[]http.HandlerFunc{hang(half, ok), ok}, []string{"", rest}, 400, time.Minute, ""},
		"it breaks off, and files have dates":                   {[]http.HandlerFunc{cut(half, dated), dated}, []string{"", rest}, 400, 0, ""},
		"it sends a part of the rest":                           {[]http.HandlerFunc{cut(half, ok), short, ok}, []string{"", rest, fmt.Sprintf("bytes=%d-", half+100)}, 400, 0, ""},
		"it breaks off, and files have no mark":                 {[]http.HandlerFunc{cut(half, file(content, "")), file(content, "")}, []string{"", ""}, 400, 0, ""},
		"it breaks off, and files have a weak mark":             {[]http.HandlerFunc{cut(half, file(content, `W/"1"`)), file(content, `W/"1"`)}, []string{"", ""}, 400, 0, ""},
		"it breaks off and knows no ranges":                     {[]http.HandlerFunc{cut(half, whole(content, tag)), whole(content, tag)}, []string{"", rest}, 400, 0, ""},
		"it breaks off, and the file is another one then":       {[]http.HandlerFunc{cut(half, ok), file(other, `"two"`)}, []string{"", rest}, 500, 0, ""},
		"it breaks off, and the file is gone then":              {[]http.HandlerFunc{cut(half, ok), status(404)}, []string{"", rest}, -1, 0, ErrMissing.Error()},
		"it goes on elsewhere":                                  {[]http.HandlerFunc{cut(half, ok), wrong("bytes 0-9/10"), ok}, []string{"", rest, ""}, 400, 0, ""},
		"it goes on in a file of another size":                  {[]http.HandlerFunc{cut(half, ok), wrong(fmt.Sprintf("bytes %d-9999999/10000000", half)), ok}, []string{"", rest, ""}, 400, 0, ""},
		"it has nothing there":                                  {[]http.HandlerFunc{cut(half, ok), status(416), ok}, []string{"", rest, ""}, 400, 0, ""},
		"it breaks off each time it begins":                     {times(9, cut(half, file(content, ""))), slices.Repeat([]string{""}, maxPasses), -1, 0, "does not have"},
		"it has no such file":                                   {times(2, status(404)), []string{""}, 0, 0, ErrMissing.Error()},
		"it has it no more":                                     {times(2, status(410)), []string{""}, 0, 0, ErrMissing.Error()},
		"it forbids":                                            {times(2, status(403)), []string{""}, 0, 0, "403"},
		"it sends a part of what is asked for":                  {times(2, wrong("bytes 0-9/10")), slices.Repeat([]string{""}, maxPasses), 0, 0, "does not have"},
		"the file is cut":                                       {times(2, file(content[:half], tag)), []string{""}, -1, 0, "damaged"},
		"it marks the file as packed":                           {[]http.HandlerFunc{func(w http.ResponseWriter, q *http.Request) { w.Header().Set("Content-Encoding", "gzip"); ok(w, q) }}, []string{""}, 400, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, answers: tc.answers}
				numbers, counts, err := readHour(t, s)
				if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "2026-03-01-4.json.gz")) {
					t.Errorf("it ends with %v, want %q", err, tc.err)
				}
				if diff := cmp.Diff(tc.asked, s.asked); diff != "" {
					t.Error(diff)
				}
				if tc.merges >= 0 {
					if diff := cmp.Diff(numbersTo(tc.merges), numbers); diff != "" {
						t.Error(diff)
					}
				} else if n := len(numbers); n == 0 || !slices.Equal(numbers, numbersTo(n)) {
					t.Errorf("%d merges are told before the error", n)
				}
				if counts.Merged != len(numbers) || counts.Duplicates != 0 {
					t.Errorf("%d merges are told, %+v", len(numbers), counts)
				}
				if took := time.Since(s.began); took < tc.least || took > tc.least+5*time.Minute {
					t.Errorf("it takes %v, want %v", took, tc.least)
				}
			})
		})
	}
}

// readHour reads an hour with a server, and returns the numbers of what it is told.
func readHour(t *testing.T, s *server) (numbers []int, counts Counts, err error) {
	t.Helper()
	a, err := New(Options{BaseURL: "http://archive.test/x/", Client: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	counts, err = a.Hour(t.Context(), at("04:30"), func(m Merge) error {
		numbers = append(numbers, m.Number)
		return nil
	})
	return numbers, counts, err
}

func TestAServerIsNotAskedForEver(t *testing.T) {
	content := manyMerges(t, 1, 1001)
	for name, answers := range map[string][]http.HandlerFunc{
		"that has no time":             {status(503)},
		"that cannot be reached":       {refuse},
		"that says nothing":            {mute},
		"that breaks off where it was": {cut(100, file(content, `"one"`)), cut(0, file(content, `"one"`))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, answers: answers}
				_, _, err := readHour(t, s)
				if _, damaged := errors.AsType[*Damaged](err); err == nil || damaged || errors.Is(err, ErrMissing) {
					t.Errorf("it ends with %v", err)
				}
				if took := time.Since(s.began); took < patience/2 || took > patience+2*time.Minute {
					t.Errorf("it takes %v", took)
				}
				if n := len(s.asked); n < 5 || n > 30 {
					t.Errorf("it is asked %d times: %v", n, s.when)
				}
			})
		})
	}
}

func TestRequestsForAFileAreBounded(t *testing.T) {
	content := manyMerges(t, 1, 3001)
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, answers: []http.HandlerFunc{cut(1, file(content, `"one"`))}}
		if _, _, err := readHour(t, s); err == nil || !strings.Contains(err.Error(), "broke off") || len(s.asked) != maxRequests {
			t.Errorf("it ends with %v after %d requests", err, len(s.asked))
		}
	})
}

func TestRetryAfterMayBeATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := manyMerges(t, 1, 3)
		later := time.Now().Add(3 * time.Minute).UTC().Format(http.TimeFormat)
		s := &server{t: t, answers: []http.HandlerFunc{status(503, "Retry-After", later), file(content, "")}}
		numbers, _, err := readHour(t, s)
		if err != nil || len(numbers) != 2 || s.when[1] < 3*time.Minute-time.Second || s.when[1] > 4*time.Minute {
			t.Errorf("%d merges after %v, %v", len(numbers), s.when, err)
		}
	})
}

func TestWhoIsToldMayTakeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, answers: []http.HandlerFunc{file(manyMerges(t, 1, 1001), `"one"`)}}
		a, err := New(Options{BaseURL: "http://archive.test/x", Client: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		counts, err := a.Hour(t.Context(), at("04:00"), func(Merge) error {
			time.Sleep(2 * silence) // in the bubble, where it takes no time
			return nil
		})
		if err != nil || counts.Merged != 1000 || len(s.asked) != 1 {
			t.Errorf("%+v after %d requests, %v", counts, len(s.asked), err)
		}
	})
}

func TestAnHourEndsWithItsContextAndWithWhoIsTold(t *testing.T) {
	own := errors.New("own")
	t.Run("in a pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{t: t, answers: times(1, status(503, "Retry-After", "300"))}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(own) })
			checkEnd(t, ctx, s, own, time.Minute)
		})
	})
	t.Run("while nothing comes", func(t *testing.T) {
		for _, answer := range []http.HandlerFunc{mute, hang(3, file(manyMerges(t, 1, 9), ""))} {
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, answers: times(1, answer)}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(own) })
				checkEnd(t, ctx, s, own, time.Second)
			})
		}
	})
	t.Run("when one is told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkEnd(t, t.Context(), &server{t: t, answers: times(1, file(manyMerges(t, 1, 9), ""))}, own, 0)
		})
	})
}

func checkEnd(t *testing.T, ctx context.Context, s *server, want error, after time.Duration) { //nolint:revive // the context is what is tested
	t.Helper()
	a, err := New(Options{BaseURL: "http://archive.test/x", Client: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Hour(ctx, at("04:00"), func(Merge) error { return want })
	if !errors.Is(err, want) || time.Since(s.began) != after || len(s.asked) != 1 {
		t.Errorf("it ends with %v after %v and %d requests", err, time.Since(s.began), len(s.asked))
	}
}

// Over a real connection, which a real server drops in the middle.
func TestADownloadGoesOnWhereTheConnectionBroke(t *testing.T) {
	content := manyMerges(t, 1, 5001)
	dropped := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.URL.Path != "/2026-03-01-4.json.gz":
			http.NotFound(w, q)
		case q.Header.Get("Range") == "":
			dropped++
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:len(content)/2])
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("ETag", `"one"`)
			http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(content))
		}
	}))
	defer s.Close()
	a, err := New(Options{BaseURL: s.URL, Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	counts, err := a.Hour(t.Context(), at("04:00"), func(m Merge) error {
		if next++; m.Number != next {
			t.Errorf("merge %d is told as number %d", m.Number, next)
		}
		return nil
	})
	if err != nil || counts.Merged != 5000 || dropped != 1 {
		t.Errorf("%+v, dropped %d times, %v", counts, dropped, err)
	}
	if _, err := a.Hour(t.Context(), at("05:00"), nil); !errors.Is(err, ErrMissing) {
		t.Errorf("an hour that is not there ends with %v", err)
	}
}

func TestAnAddressThatIsNone(t *testing.T) {
	for _, address := range []string{"archive.test", "ftp://archive.test", "/var/archive", "http://", "http://a.test/?x=1", "http://a.test/#x", "http://a b/"} {
		if _, err := New(Options{BaseURL: address}); err == nil {
			t.Errorf("%q is an archive", address)
		}
	}
	if a, err := New(Options{}); err != nil || a.base != DefaultBaseURL+"/" {
		t.Errorf("the usual one is at %+v, %v", a, err)
	}
}
