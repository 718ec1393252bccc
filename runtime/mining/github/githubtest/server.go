package githubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server answers for a World.
type Server struct {
	URL string // "" = it is reached through Transport alone
	API string // for the client: URL, with /api/v3 for Enterprise

	mu       sync.Mutex
	w        World
	random   *rand.Rand
	windows  map[string]*window // by token and resource
	calls    int
	answered map[string]int
}

// window is one in which a limit holds.
type window struct {
	used int
	ends time.Time
}

// New starts a server that ends with the test.
func New(t testing.TB, w World) *Server {
	t.Helper()
	s := Offline(w)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.at(server.URL)
	return s
}

// Offline returns a server that is reached through Transport alone, at API: within
// testing/synctest.
func Offline(w World) *Server {
	s := &Server{w: w, random: rand.New(rand.NewPCG(w.Faults.Seed, 1)), windows: map[string]*window{}, answered: map[string]int{}}
	s.at("https://github.test")
	s.URL = ""
	return s
}

func (s *Server) at(address string) {
	s.URL, s.API = address, address
	if s.w.Enterprise {
		s.API += "/api/v3"
	}
}

// Change changes the world between two requests.
func (s *Server) Change(change func(*World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.w)
}

// Calls is how many requests came, whatever the answer.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Answered is what was answered, and how often: "GET /repos/o/r/pulls/1" or, for each pull
// request of a batch, "GRAPHQL o/r#1". Limits, faults, redirections and conditional requests
// do not count.
func (s *Server) Answered() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.answered)
}

// Repeated is what was answered more than once, in order.
func (s *Server) Repeated() (all []string) {
	for what, n := range s.Answered() {
		if n > 1 {
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return all
}

// Transport reaches the server without a network.
func (s *Server) Transport() http.RoundTripper { return direct{s} }

type direct struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(q *http.Request) (res *http.Response, err error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	defer func() {
		switch broken := recover(); broken {
		case nil:
		case http.ErrAbortHandler:
			res, err = nil, io.ErrUnexpectedEOF
		default:
			panic(broken)
		}
	}()
	q = q.Clone(q.Context())
	if q.Body == nil {
		q.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.s.ServeHTTP(w, q)
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	res = w.Result()
	res.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	res.Request = q
	return res, nil
}

// answer is what is sent.
type answer struct {
	status int
	header http.Header
	body   any      // as JSON; []byte as it is
	counts []string // as answered
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	a, fault := s.respond(q, body)
	s.mu.Unlock()
	text, raw := a.body.([]byte)
	if !raw && a.body != nil {
		text, err = json.Marshal(a.body)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	maps.Copy(w.Header(), a.header)
	switch fault {
	case Dropped:
		panic(http.ErrAbortHandler)
	case Half:
		w.Header().Set("Content-Length", fmt.Sprint(len(text)+1))
		w.WriteHeader(a.status)
		_, _ = w.Write(text[:len(text)/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text)
}

// respond finds the answer to a request, and counts it.
func (s *Server) respond(q *http.Request, body []byte) (a answer, fault Fault) {
	s.calls++
	token := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	path, ok := s.path(q.URL)
	resource := resourceOf(path)
	switch {
	case !ok:
		return problem(http.StatusNotFound, "Not Found"), ""
	case len(s.w.Tokens) > 0 && token != "" && !slices.Contains(s.w.Tokens, token):
		return problem(http.StatusUnauthorized, "Bad credentials"), ""
	case resource == "graphql" && token == "":
		return problem(http.StatusUnauthorized, "This endpoint requires you to be authenticated."), ""
	case path == "/rate_limit":
		if fault = s.draw(); fault != "" && fault != Half {
			return broken(fault), fault
		}
		return answer{status: http.StatusOK, body: s.rates(token)}, fault
	}
	limit, window := s.w.limit(resource, token), s.window(token, resource)
	if window.used >= limit.Requests {
		return limited(resource, limit, window), ""
	}
	window.used++
	if fault = s.draw(); fault != "" && fault != Half {
		return broken(fault), fault
	}
	if a = s.route(q, path, body); resource != "graphql" && a.status == http.StatusOK {
		a = conditional(a, q.Header.Get("If-None-Match"))
	}
	if a.status == http.StatusNotModified {
		window.used-- // it costs nothing
	}
	maps.Copy(a.header, headers(resource, limit, window))
	if fault == "" && q.Header.Get("If-None-Match") == "" && q.Context().Err() == nil {
		for _, what := range a.counts {
			s.answered[what]++
		}
	}
	return a, fault
}

// path is that of a request below the API.
func (s *Server) path(u *url.URL) (string, bool) {
	if !s.w.Enterprise {
		return u.Path, true
	}
	if u.Path == "/api/graphql" {
		return "/graphql", true
	}
	return strings.CutPrefix(u.Path, "/api/v3")
}

func resourceOf(path string) string {
	switch {
	case path == "/graphql":
		return "graphql"
	case strings.HasPrefix(path, "/search/"):
		return "search"
	}
	return "core"
}

// window is the one that a token is in.
func (s *Server) window(token, resource string) *window {
	now, key := time.Now(), token+" "+resource
	w := s.windows[key]
	if w == nil || !now.Before(w.ends) {
		w = &window{ends: now.Add(s.w.limit(resource, token).Window + time.Second - 1).Truncate(time.Second)}
		s.windows[key] = w
	}
	return w
}

func headers(resource string, l Limit, w *window) http.Header {
	return http.Header{
		"X-Ratelimit-Limit":     {fmt.Sprint(l.Requests)},
		"X-Ratelimit-Remaining": {fmt.Sprint(l.Requests - w.used)},
		"X-Ratelimit-Used":      {fmt.Sprint(w.used)},
		"X-Ratelimit-Reset":     {fmt.Sprint(w.ends.Unix())},
		"X-Ratelimit-Resource":  {resource},
	}
}

// limited says that a limit is used up. GraphQL says so with status 200.
func limited(resource string, l Limit, w *window) answer {
	const text = "API rate limit exceeded for user ID 1."
	a := problem(http.StatusForbidden, text)
	if resource == "graphql" {
		a = answer{status: http.StatusOK, body: object{"errors": []object{{"type": "RATE_LIMITED", "message": text}}}}
	}
	a.header = headers(resource, l, w)
	return a
}

// rates is what /rate_limit says.
func (s *Server) rates(token string) object {
	all := object{}
	for _, resource := range []string{"core", "search", "graphql"} {
		l, w := s.w.limit(resource, token), s.window(token, resource)
		all[resource] = object{"limit": l.Requests, "used": w.used, "remaining": l.Requests - w.used, "reset": w.ends.Unix()}
	}
	return object{"resources": all, "rate": all["core"]}
}

// draw tells whether a request is to go wrong, and how.
func (s *Server) draw() Fault {
	if f := s.w.Faults; s.random.Float64() < f.Share {
		kinds := f.kinds()
		return kinds[s.random.IntN(len(kinds))]
	}
	return ""
}

func broken(f Fault) (a answer) {
	const secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	switch f {
	case Secondary:
		a = problem(http.StatusForbidden, secondary)
		a.header = http.Header{"Retry-After": {"1"}}
	case TooMany:
		a = problem(http.StatusTooManyRequests, secondary)
		a.header = http.Header{"Retry-After": {"1"}}
	case BadGateway:
		a = answer{status: http.StatusBadGateway, body: object{"message": "Server Error"}}
	case Page:
		a = answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, body: []byte("<!DOCTYPE html>\n<title>Unicorn! &middot; GitHub</title>\n")}
	}
	return a
}

func problem(status int, message string) answer {
	return answer{status: status, header: http.Header{}, body: object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)}}
}

// conditional gives an answer its ETag, or leaves it out where it is known.
func conditional(a answer, etag string) answer {
	text, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	sum := fmt.Sprintf(`W/"%x"`, sha256.Sum256(text))
	a.header.Set("ETag", sum)
	if etag == sum {
		a.status, a.body = http.StatusNotModified, []byte(nil)
		return a
	}
	a.body = bytes.Clone(text)
	a.header.Set("Content-Type", "application/json; charset=utf-8")
	return a
}
