package api

import (
	"context"
	"net/http"
	"time"
)

// Logins lets browsers in.
type Logins interface {
	// Code makes a code with which a browser begins one session, until a moment.
	Code() (code string, until time.Time)
	// EndAll ends all sessions, and returns how many there were.
	EndAll(ctx context.Context) (int, error)
	// Doors are where pages are served: addresses of the HTTP listener, and the path of the socket.
	Doors() (addresses []string, socket string)
}

// Login answers POST /v1/login.
type Login struct {
	Code      string    `json:"code"`
	Until     time.Time `json:"until"`
	Addresses []string  `json:"addresses"` // of the HTTP listener, such as 127.0.0.1:7434; none = there is no listener
	Socket    string    `json:"socket"`    // path of the socket that serves pages
}

// Logout answers POST /v1/logout.
type Logout struct {
	Sessions int `json:"sessions"` // that were ended
}

// Login asks for a code with which a browser logs in.
func (c *Client) Login(ctx context.Context) (l Login, err error) {
	return l, c.call(ctx, http.MethodPost, "/v1/login", nil, &l)
}

// Logout ends all sessions of browsers.
func (c *Client) Logout(ctx context.Context) (l Logout, err error) {
	return l, c.call(ctx, http.MethodPost, "/v1/logout", nil, &l)
}

func (h *handler) login(w http.ResponseWriter, _ *http.Request) {
	if h.logins == nil {
		fail(w, errNoPages)
		return
	}
	l := Login{}
	l.Addresses, l.Socket = h.logins.Doors()
	l.Addresses = append([]string{}, l.Addresses...)
	l.Code, l.Until = h.logins.Code()
	answer(w, l, nil)
}

func (h *handler) logout(w http.ResponseWriter, q *http.Request) {
	if h.logins == nil {
		fail(w, errNoPages)
		return
	}
	n, err := h.logins.EndAll(q.Context())
	answer(w, Logout{n}, err)
}
