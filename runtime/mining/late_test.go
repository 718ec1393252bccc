package mining_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// shelf is a book in which pull requests are found, and no more: every one is rejected by what
// the archive tells.
type shelf struct {
	mining.Book // nil: whatever else is asked is a mistake
	mu          sync.Mutex
	found       []string
	marks       map[string]mining.Mark
}

func (s *shelf) Find(_ context.Context, found []mining.Found, mark mining.Mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range found {
		if f.Rejected == nil {
			return fmt.Errorf("%s is not rejected", f.Ref)
		}
		s.found = append(s.found, f.Ref.String())
	}
	s.marks[mark.Key] = mark
	return nil
}

func (s *shelf) Marks(_ context.Context, prefix string) (all []mining.Mark, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, mark := range s.marks {
		if strings.HasPrefix(key, prefix) {
			all = append(all, mark)
		}
	}
	return all, nil
}

func (s *shelf) Open(context.Context, int64, int) ([]mining.Candidate, error) { return nil, nil }
func (s *shelf) Counts(context.Context) (c mining.Counts, err error)          { return c, nil }
func (s *shelf) Report(context.Context, string, any) error                    { return nil }

// free is a ledger of nothing.
type free struct{}

func (free) Begin(context.Context, gateway.Charge) (int64, error)              { return 0, nil }
func (free) End(context.Context, int64, gateway.Charge) error                  { return nil }
func (free) Spent(context.Context, gateway.Account) (u gateway.Usage, e error) { return u, nil }

// hours is an archive that has those hours that are published, each with a merge of its own.
type hours struct {
	published func(hour string) bool

	mu    sync.Mutex
	asked map[string]int
}

// RoundTrip implements http.RoundTripper.
func (h *hours) RoundTrip(q *http.Request) (*http.Response, error) {
	hour := strings.TrimSuffix(path.Base(q.URL.Path), ".json.gz")
	h.mu.Lock()
	h.asked[hour]++
	h.mu.Unlock()
	res := &http.Response{StatusCode: http.StatusNotFound, Status: "404 Not Found", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q, Header: http.Header{}, Body: http.NoBody}
	if !h.published(hour) {
		return res, nil
	}
	at, err := time.Parse("2006-01-02-15", hour)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = fmt.Fprintf(z, `{"id":"%d","type":"PullRequestEvent","actor":{"login":"grace"},"repo":{"name":"acme/app"},"org":{"login":"acme"},`+
		`"created_at":"%s","payload":{"action":"merged","number":%d,"pull_request":{"number":%d,"head":{"ref":"topic","sha":"a"},"base":{"ref":"main","sha":"b"}}}}`+"\n",
		at.Unix(), at.Format(time.RFC3339), at.Hour(), at.Hour())
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	res.StatusCode, res.Status, res.ContentLength, res.Body = http.StatusOK, "200 OK", int64(b.Len()), io.NopCloser(&b)
	return res, nil
}

// An hour that the archive publishes late is read by a later pass, also when the lookback does
// not reach it any more; nothing else is read again.
func TestAnHourThatComesLateIsReadByALaterPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(2026, 3, 1, 20, 5, 0, 0, time.UTC)
		time.Sleep(time.Until(begin)) // by the clock of the test
		late := begin.Add(3 * time.Hour)
		source := &hours{asked: map[string]int{}, published: func(hour string) bool { return hour != "2026-03-01-17" || time.Now().After(late) }}
		from, err := archive.New(archive.Options{BaseURL: "https://archive.test", Client: &http.Client{Transport: source}})
		if err != nil {
			t.Fatal(err)
		}
		books, err := gateway.New(gateway.Options{Ledger: free{}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer books.Close()
		clones, err := extract.New(extract.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		book := &shelf{marks: map[string]mining.Mark{}}
		spec := config.Mining{
			Source: config.Source{Kind: "gharchive", Lookback: 3 * time.Hour}, Every: time.Hour, Batch: 30,
			Concurrency: config.Concurrency{Archive: 2, Enrich: 1, Classify: 1, Deep: 1},
		}
		m := mining.New(mining.Options{
			Spec: spec, Rules: screen.Rules{ExcludeRepos: []string{"acme/*"}}, Book: book, Archive: from, Repos: clones, Gateway: books, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := m.Run(ctx)
			ended <- err
		}()
		time.Sleep(30 * time.Minute)
		p, err := m.Progress(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&mining.Hours{Read: 2, Gaps: []string{"2026-03-01-17 missing"}}, p.Hours); diff != "" {
			t.Errorf("after the first pass: -want +got\n%s", diff)
		}
		time.Sleep(4 * time.Hour)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		slices.Sort(book.found)
		want := []string{"acme/app#16", "acme/app#17", "acme/app#18", "acme/app#19", "acme/app#20", "acme/app#21", "acme/app#22"}
		if diff := cmp.Diff(want, book.found); diff != "" {
			t.Errorf("found: -want +got\n%s", diff)
		}
		if source.asked["2026-03-01-17"] != 5 {
			t.Errorf("the late hour was asked for in %d of 5 passes", source.asked["2026-03-01-17"])
		}
		delete(source.asked, "2026-03-01-17")
		for hour, n := range source.asked {
			if n != 1 {
				t.Errorf("the hour %s was read %d times", hour, n)
			}
		}
	})
}
