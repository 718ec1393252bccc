package socket

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon/api"
)

// controlHosts are the names by which requests on the control socket may call it.
var controlHosts = []string{"", "assayd", "localhost", "unix"}

// formTypes are the types of bodies that a web page may send to another site without asking it.
var formTypes = []string{"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}

// RefuseWebPages refuses what a web page sends. Something may forward a port to the control socket, and
// then every page that is open in a browser there can reach it.
func RefuseWebPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if code, why := ofWebPage(q); why != "" {
			w.Header().Set("Connection", "close") // its body is not waited for
			kind := api.Forbidden
			if code == http.StatusUnsupportedMediaType {
				kind = api.Invalid
			}
			api.Refuse(w, code, kind, why)
			return
		}
		next.ServeHTTP(w, q)
	})
}

// ofWebPage says why a request may be one of a web page; "" = it is none.
func ofWebPage(q *http.Request) (code int, why string) {
	host := q.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.Contains(controlHosts, strings.ToLower(host)) {
		return http.StatusMisdirectedRequest, fmt.Sprintf("the control socket does not serve the host %q; ask http://assayd/", q.Host)
	}
	if origin := q.Header.Get("Origin"); origin != "" {
		return http.StatusForbidden, fmt.Sprintf("the control socket serves no web pages, and this request is of one of %q", origin)
	}
	if site := q.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" {
		return http.StatusForbidden, fmt.Sprintf("the control socket serves no web pages, and this request is of one (Sec-Fetch-Site: %q)", site)
	}
	if sent := q.Header.Get("Content-Type"); sent != "" {
		kind, _, err := mime.ParseMediaType(sent)
		if err != nil || slices.Contains(formTypes, kind) {
			return http.StatusUnsupportedMediaType, fmt.Sprintf("a body of the type %q is not taken; send Content-Type: application/json", sent)
		}
	}
	return 0, ""
}
