package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon/api"
)

// Token lets a program, or somebody who logs in, do what the role may.
type Token struct {
	Role  Role
	Text  string
	Whole bool // everything that the control socket lets do
}

// name is what records call who shows the token: its name in the settings.
func (t Token) name() string {
	if t.Whole {
		return "token"
	}
	return string(t.Role) + "_token"
}

// same compares a text with the token in a time that does not depend on where they differ.
func (t Token) same(text string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(t.Text))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// tokenOf is the token that a text is.
func tokenOf(tokens []Token, text string) (found Token, ok bool) {
	for _, t := range tokens {
		if t.same(text) { // all are looked at
			found, ok = t, true
		}
	}
	return found, ok
}

// operatorRoutes are what an operator may call besides what reads.
var operatorRoutes = []string{"/v1/rerun", "/v1/retry", "/v1/cancel", "/v1/holds", "/v1/drain", "/v1/notes"}

// trialVerb are the verbs about one trial, which are for operators, too.
var trialVerb = regexp.MustCompile(`^/v1/trials/[^/]+/(stop|extend)$`)

// may reports whether a role may make a request to the API. One that names files of the daemon's machine is read, and its
// datasets are fetched: that is for whoever may do everything.
func may(role Role, q *http.Request) bool {
	if q.URL.Path == "/api/v1/tasks" && q.URL.Query().Has("file") {
		return false
	}
	if q.Method == http.MethodGet || q.Method == http.MethodHead {
		return true
	}
	if role == Operator && q.Method == http.MethodDelete {
		return strings.HasPrefix(q.URL.Path, "/v1/holds/")
	}
	return role == Operator && q.Method == http.MethodPost && (slices.Contains(operatorRoutes, q.URL.Path) || trialVerb.MatchString(q.URL.Path))
}

// bearer is the token that a request shows, "" if it shows none.
func bearer(q *http.Request) string {
	scheme, shown, _ := strings.Cut(q.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(shown)
}

// known reports whether a request calls the daemon by one of its names. A page of somebody else may have a name that
// leads here: its browser would take the answers for its own.
func (s *Server) known(q *http.Request) bool {
	host := q.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || net.ParseIP(host) != nil { // no page has such a name
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(host, own) || slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// guarded sets the headers of all answers, and refuses what another site sends or calls by a foreign name.
func (s *Server) guarded(next http.Handler) http.Handler {
	crossing := http.NewCrossOriginProtection()
	crossing.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.Refuse(w, http.StatusForbidden, api.Forbidden, "a page of another site sent this request")
	}))
	inner := crossing.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.known(q) {
			w.Header().Set("Connection", "close") // its body is not waited for
			api.Refuse(w, http.StatusMisdirectedRequest, api.Forbidden, "no page is served for the host "+strings.ToValidUTF8(q.Host, "")+
				`; write http { hosts = ["NAME"] } into the settings if it is a name of this machine`)
			return
		}
		inner.ServeHTTP(w, q)
	})
}

// policy lets a page load what the daemon serves itself, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types assayd"
