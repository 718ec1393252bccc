package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/assayd/assayd/daemon/web/page"
)

// maxForm bounds the body of a form, in bytes.
const maxForm = 4 << 10

// cookie is the name of the session's cookie. Browsers take no notice of ports, and people forward several daemons.
func (s *Server) cookie() string {
	return "assayd_" + strings.ToLower(s.o.Owner[:min(8, len(s.o.Owner))])
}

// roleOf is the role of who sends a request; "" = nobody is logged in.
func (s *Server) roleOf(q *http.Request) Role {
	c, err := q.Cookie(s.cookie())
	if err != nil {
		return ""
	}
	role, _ := s.o.Sessions.find(q.Context(), c.Value)
	return role
}

func (s *Server) showLogin(w http.ResponseWriter, q *http.Request) {
	s.send(w, q, http.StatusOK, draw("login", "", page.NewLogin(s.frame(""), local(q.FormValue("to")), "", len(s.o.Tokens) > 0)))
}

// login begins a session for who shows a code or a token.
func (s *Server) login(w http.ResponseWriter, q *http.Request) {
	q.Body = http.MaxBytesReader(w, q.Body, maxForm)
	secret, to := strings.TrimSpace(q.PostFormValue("secret")), local(q.PostFormValue("to"))
	refuse := func(status int, why string) {
		s.send(w, q, status, draw("login", "", page.NewLogin(s.frame(""), to, why, len(s.o.Tokens) > 0)))
	}
	role, ok := s.o.Sessions.redeem(secret) // nobody guesses a code, so that tries of others keep nobody out
	by := "code"
	if !ok {
		if s.o.Sessions.tired(q.RemoteAddr) {
			s.o.LoggedIn("limited")
			w.Header().Set("Retry-After", "60")
			refuse(http.StatusTooManyRequests, "That were too many tries. Wait a minute, or log in with a code of assayd web.")
			return
		}
		var token Token
		token, ok = tokenOf(s.o.Tokens, secret)
		role, by = token.Role, "token"
	}
	if !ok {
		s.o.LoggedIn("wrong")
		s.o.Sessions.failed(q.RemoteAddr)
		s.o.Log.Warn("somebody tried to log in", "from", q.RemoteAddr)
		refuse(http.StatusUnauthorized, "That is no code that is good now. A code is good once, for a minute: ask for another with assayd web.")
		return
	}
	value, err := s.o.Sessions.begin(q.Context(), role, by)
	if err != nil {
		s.o.Log.Error("begin a session", "error", err)
		refuse(http.StatusServiceUnavailable, "The session cannot be kept: "+err.Error())
		return
	}
	s.o.LoggedIn("ok")
	s.o.Log.Info("somebody has logged in", "role", string(role), "by", by, "from", q.RemoteAddr)
	http.SetCookie(w, s.cookieWith(q, value, int(wholeTime.Seconds())))
	http.Redirect(w, q, to, http.StatusSeeOther)
}

func (s *Server) cookieWith(q *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookie(), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: q.TLS != nil || q.Header.Get("X-Forwarded-Proto") == "https",
	}
}

func (s *Server) logout(w http.ResponseWriter, q *http.Request) {
	if c, err := q.Cookie(s.cookie()); err == nil {
		if err := s.o.Sessions.end(q.Context(), c.Value); err != nil {
			s.o.Log.Error("end a session", "error", err)
		}
	}
	http.SetCookie(w, s.cookieWith(q, "", -1))
	http.Redirect(w, q, "/login", http.StatusSeeOther)
}

// local is an address of a page here; another is the overview.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(to, "\\\r\n") {
		return "/"
	}
	return to
}
