package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
)

// Socket is where the pages of a state directory are served for who can open it, such as by ssh -L.
func Socket(stateDir string) string { return filepath.Join(stateDir, "web.sock") }

// Options are what pages are made from.
type Options struct {
	Reader    *query.Reader
	Trials    *trialview.Trials
	Summaries *summaries.Summaries
	API       http.Handler // answers /v1 and /api/v1
	Sessions  *Sessions
	Tokens    []Token  // of the settings
	Hosts     []string // names of the machine besides its own
	Numbers   bool     // viewers see numbers, and no text of agents and hidden tests
	Owner     string   // id of the state directory
	Version   string
	Watches   []string             // folders of specs
	ReadOnly  bool                 // no daemon runs
	Act       Act                  // does what operators ask for on pages; nil = nothing can be done
	Load      func() page.Load     // of the machine; nil = it is not known
	Metrics   http.Handler         // answers GET /metrics for who may look; nil = there are none
	Probes    map[string]Probe     // what anybody may ask, by path
	LoggedIn  func(outcome string) // told of each try to log in: ok, wrong, limited; nil = nobody is
	Log       *slog.Logger
}

// Server serves pages.
type Server struct {
	o     Options
	turns chan struct{} // held while the page of a run is made
}

// New returns a server of pages.
func New(o Options) *Server {
	if o.LoggedIn == nil {
		o.LoggedIn = func(string) {}
	}
	return &Server{o, make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// turn waits until the page of a run may be made. With ten thousand cells it takes a tenth of a second of a CPU: however many
// look, half of the CPUs are left to all else.
func (s *Server) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Handler serves the pages, and the API for who has a session or a token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux() // of what is packed
	mux.Handle("GET "+page.StaticPath, page.Static())
	mux.HandleFunc("GET /login", s.showLogin)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	for pattern, show := range s.pages() {
		mux.HandleFunc("GET "+pattern, s.page(show))
	}
	mux.HandleFunc("GET /act", s.showAct)
	mux.HandleFunc("POST /act", s.act)
	mux.HandleFunc("GET /go", s.goTo)
	mux.HandleFunc("GET /runs/{run}/{execution}/cell", s.cell)
	mux.HandleFunc("/", s.page(func(*http.Request, page.Frame) (string, page.View, error) { return "", nil, errNoPage }))
	whole := http.NewServeMux()
	whole.HandleFunc("/v1/", s.api) // its streams are sent as they come
	whole.HandleFunc("/api/v1/", s.api)
	s.monitoring(whole)
	whole.Handle("/", gzhttp.GzipHandler(mux))
	return s.guarded(whole)
}

// api passes on what the token or the session of a request lets it do.
func (s *Server) api(w http.ResponseWriter, q *http.Request) {
	if token, ok := tokenOf(s.o.Tokens, bearer(q)); ok && q.Header.Get("Authorization") != "" {
		if token.Whole || may(token.Role, q) {
			who := control.Actor{By: token.name(), Via: control.API}
			s.pass(w, q, s.seenBy(token.Role, q.WithContext(control.As(q.Context(), who))))
			return
		}
		w.Header().Set("Connection", "close")
		api.Refuse(w, http.StatusForbidden, api.Forbidden, "the token of a "+string(token.Role)+" does not let do this")
		return
	}
	if role := s.roleOf(q); role != "" && q.Header.Get("Authorization") == "" && may(Viewer, q) {
		s.pass(w, q, s.seenBy(role, q))
		return
	}
	unauthorized(w)
}

// pass passes a request on as it is to be answered. The route that it finds is that of the request as it came, for whoever counts.
func (s *Server) pass(w http.ResponseWriter, came, asked *http.Request) {
	s.o.API.ServeHTTP(w, asked)
	came.Pattern = asked.Pattern
}

// show makes a page: the name of its template, and what it shows.
type show func(q *http.Request, f page.Frame) (name string, v page.View, err error)

func (s *Server) frame(role Role) page.Frame {
	return page.Frame{Version: s.o.Version, Role: string(role), AsOf: time.Now(), ReadOnly: s.o.ReadOnly, Numbers: s.o.Numbers && role == Viewer}
}

// seenBy is a request that is answered with what the role may see.
func (s *Server) seenBy(role Role, q *http.Request) *http.Request {
	if s.o.Numbers && role == Viewer {
		return q.WithContext(request.WithoutContent(q.Context()))
	}
	return q
}

// page serves a page to who has a session.
func (s *Server) page(make show) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		role := s.roleOf(q)
		switch {
		case q.Header.Get("Authorization") != "":
			s.api(w, q) // a program asks, and is told so in its words
			return
		case role == "":
			to := url.Values{"to": {q.URL.RequestURI()}}
			http.Redirect(w, q, "/login?"+to.Encode(), http.StatusSeeOther)
			return
		}
		m, err := s.make(s.seenBy(role, q), make, role)
		if err != nil {
			s.problem(w, q, role, err)
			return
		}
		s.send(w, q, http.StatusOK, m)
	}
}

// made is a page, or the part of it that is asked for, before it is sent.
type made struct {
	text []byte
	part string // "" = all of it
	is   bool   // the page has that part
	err  error  // why its template failed
}

// make makes a page. What it takes is given back before the page is sent: a reader may be slow.
func (s *Server) make(q *http.Request, make show, role Role) (m made, err error) {
	if strings.HasPrefix(q.URL.Path, "/runs/") {
		done, err := s.turn(q.Context())
		if err != nil {
			return m, err
		}
		defer done()
	}
	name, v, err := make(q, s.frame(role))
	if err != nil {
		return m, err
	}
	return draw(name, q.URL.Query().Get("part"), v), nil
}

func draw(name, part string, v page.View) made {
	var b bytes.Buffer
	is, err := page.Render(&b, name, part, v)
	return made{b.Bytes(), part, is, err}
}

// problem serves the page of an error.
func (s *Server) problem(w http.ResponseWriter, q *http.Request, role Role, err error) {
	if q.Context().Err() != nil {
		return // nobody waits for it
	}
	status, title := api.Classify(err)
	if status >= http.StatusInternalServerError {
		s.o.Log.Error("make a page", "path", q.URL.Path, "error", err)
	}
	s.send(w, q, status, draw("problem", "", page.NewProblem(s.frame(role), status, title, err.Error())))
}

// send sends a page. A browser that has it already is told so.
func (s *Server) send(w http.ResponseWriter, q *http.Request, status int, m made) {
	if m.err != nil {
		s.o.Log.Error("make a page", "path", q.URL.Path, "error", m.err)
		api.Refuse(w, http.StatusInternalServerError, api.Internal, "the page cannot be made; the log of the daemon says why")
		return
	}
	if !m.is {
		api.Refuse(w, http.StatusNotFound, api.NotFound, "the page has no such part")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if m.part != "" {
		sum := sha256.Sum256(m.text)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		w.Header().Set("ETag", tag)
		if strings.Contains(q.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(m.text) // a reader that went away needs no answer
}
