package layer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// until waits for something that will be so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func TestADownloadOutlivesMisfortunes(t *testing.T) {
	t.Parallel()
	data := packed(t, entry{name: "f", text: "content"})
	first, broken := "agent-1.0.0.tgz", misfortune{bytes: 10}
	for name, tt := range map[string]struct {
		mumbles, faults []misfortune
		asked           []string
	}{
		"of the description":       {[]misfortune{{code: 503}, {code: 429, after: "0"}, {}, {code: 408}}, nil, []string{first}},
		"before the first byte":    {nil, []misfortune{{code: 500}, {}}, []string{first, first, first}},
		"in the middle, twice":     {nil, []misfortune{{bytes: 50}, {bytes: 7}}, []string{first, first + " bytes=50-", first + " bytes=57-"}},
		"often, but getting along": {nil, slices.Repeat([]misfortune{broken}, maxFailures+3), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := newShop(t)
			p := shop.sell("agent", "1.0.0", data)
			shop.mumble(tt.mumbles...)
			shop.fail(tt.faults...)
			l := made(t, shop.open(t.TempDir()), p)
			if diff := cmp.Diff([]string{"755 ./", "755 agent/", "644 agent/f=content"}, files(t, l.Dir)); diff != "" {
				t.Error(diff)
			}
			if asked := shop.sold(); tt.asked != nil && !slices.Equal(asked, tt.asked) {
				t.Errorf("asked for %q, want %q", asked, tt.asked)
			}
		})
	}
}

// What a killed daemon had of an archive may be anything.
func TestADownloadGoesOnWithWhatIsRightAndBeginsAnewWithWhatIsNot(t *testing.T) {
	t.Parallel()
	data := packed(t, entry{name: "f", text: "content"})
	const all = "agent-1.0.0.tgz"
	n := len(data)
	for name, tt := range map[string]struct {
		left  []byte
		asked []string
	}{
		"a part":          {data[:n-5], []string{fmt.Sprintf("%s bytes=%d-", all, n-5)}},
		"all of it":       {data, nil},
		"something else":  {[]byte("else"), []string{all + " bytes=4-", all}},
		"too much":        {append(slices.Clone(data), "more"...), []string{fmt.Sprintf("%s bytes=%d-", all, n+4), all}},
		"nothing so far":  {[]byte{}, []string{all}},
		"as much of else": {make([]byte, n), []string{fmt.Sprintf("%s bytes=%d-", all, n), all}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, dir := newShop(t), t.TempDir()
			p := shop.sell("agent", "1.0.0", data)
			sum, err := parseIntegrity(p.Integrity)
			if err != nil {
				t.Fatal(err)
			}
			work := shop.open(dir).work(digestOfPackages([]Package{p}, []sum512{sum}))
			if err := errors.Join(os.Mkdir(work, 0o700), os.WriteFile(filepath.Join(work, "0.tgz"), tt.left, 0o600)); err != nil {
				t.Fatal(err)
			}
			s := shop.open(dir)
			if got := files(t, made(t, s, p).Dir); got[2] != "644 agent/f=content" {
				t.Errorf("%q", got)
			}
			if asked := shop.sold(); !slices.Equal(asked, tt.asked) {
				t.Errorf("asked for %q, want %q", asked, tt.asked)
			}
			empty(t, s.workshop())
		})
	}
}

// played is a web of which one function gives all answers.
type played func(q *http.Request) (*http.Response, error)

func (p played) RoundTrip(q *http.Request) (*http.Response, error) { return p(q) }

func answer(code int, after string) *http.Response {
	header := http.Header{}
	header.Set("Retry-After", after)
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader("busy"))}
}

// inTurn gives one answer after the other.
func inTurn(answers ...*http.Response) played {
	return func(*http.Request) (*http.Response, error) {
		if len(answers) == 0 {
			return nil, errors.New("nothing more was to be asked")
		}
		a := answers[0]
		answers = answers[1:]
		return a, nil
	}
}

// described is the description of a@1.0.0.
func described() *http.Response {
	a := answer(200, "")
	a.Body = io.NopCloser(strings.NewReader(`{"name": "a", "version": "1.0.0", "dist": {"tarball": "http://h/a.tgz", "integrity": "` + integrity(nil) + `"}}`))
	return a
}

func TestHowLongARegistryIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plays       played
		least, most time.Duration
		wrong       []string
		passing     bool
	}{
		"an outage is told of after about a minute": {
			func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
			30 * time.Second, 2 * time.Minute,
			[]string{"connection refused", "tried 7 times", "mirrors = { npm ="},
			true,
		},
		"a registry that has had enough is left alone for as long as it asks": {
			func(*http.Request) (*http.Response, error) { return answer(429, "200"), nil },
			6 * 200 * time.Second, 7 * 200 * time.Second,
			[]string{"429 Too Many Requests", "retry after 3m20s"},
			true,
		},
		"one that asks for more than there is time is told of at once": {
			func(*http.Request) (*http.Response, error) { return answer(503, "999999"), nil },
			0, time.Second,
			[]string{"503 Service Unavailable"},
			true,
		},
		"one that asks for more than is left is told of at once": {
			inTurn(answer(429, "1000"), described(), answer(503, "1000")),
			1000 * time.Second, 1001 * time.Second,
			[]string{"503 Service Unavailable"},
			true,
		},
		"one that is gone is not asked twice": {
			func(*http.Request) (*http.Response, error) { return answer(410, ""), nil },
			0, 0,
			[]string{"410 Gone"},
			false,
		},
		"silence is an outage": {
			func(q *http.Request) (*http.Response, error) {
				<-q.Context().Done()
				return nil, q.Context().Err()
			},
			7 * silence, 9 * silence,
			[]string{"nothing has come for 1m0s"},
			true,
		},
		"one that drips has half an hour": {
			func(q *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(drip{q})}, nil
			},
			longest, longest + time.Minute,
			[]string{"not done after 30m0s"},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s, err := Open(dir, Options{Client: &http.Client{Transport: tt.plays}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				begun := time.Now()
				_, err = s.Packages(t.Context(), []Package{{Name: "a", Version: "1.0.0"}})
				if took := time.Since(begun); took < tt.least || took > tt.most {
					t.Errorf("it took %s", took)
				}
				if Passing(err) != tt.passing {
					t.Errorf("%v may pass: %v", err, !tt.passing)
				}
				for _, wrong := range tt.wrong {
					if err == nil || !strings.Contains(err.Error(), wrong) {
						t.Errorf("%v, want %q", err, wrong)
					}
				}
			})
		})
	}
}

// drip is a body of which a byte comes every half minute.
type drip struct{ q *http.Request }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(silence / 2):
		return copy(p, " "), nil
	case <-d.q.Context().Done():
		return 0, d.q.Context().Err()
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "-5": 0, "12": 12 * time.Second, "99999999999": longestAsked,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0, "Fri, 02 Jan 2099 03:00:00 GMT": longestAsked,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Where checksums come unencrypted, anybody on the way could have made them.
func TestARedirectionDoesNotLeaveEncryption(t *testing.T) {
	t.Parallel()
	c, err := newClient("")
	if err != nil {
		t.Fatal(err)
	}
	request := func(url string) *http.Request {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	secure, plain := request("https://a/"), request("http://b/")
	if err := c.CheckRedirect(plain, []*http.Request{secure}); err == nil {
		t.Error("from https to http")
	}
	if err := errors.Join(c.CheckRedirect(secure, []*http.Request{plain}), c.CheckRedirect(secure, []*http.Request{secure})); err != nil {
		t.Error(err)
	}
	if err := c.CheckRedirect(secure, slices.Repeat([]*http.Request{secure}, maxRedirects)); err == nil {
		t.Error("without an end")
	}
}
