package socket

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayd/assayd/daemon/api/apitest"
)

// TestTheControlSocketObeysNoWebPage sends what a page in a browser can send over a forwarded port.
func TestTheControlSocketObeysNoWebPage(t *testing.T) {
	for _, tt := range []struct {
		name, method, host string
		header             []string
		want               int
	}{
		{"the client", "POST", "assayd", nil, 200},
		{"curl", "GET", "localhost", []string{"Accept", "*/*"}, 200},
		{"curl with JSON", "POST", "localhost:80", []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		{"an archive", "POST", "assayd", []string{"Content-Type", "application/octet-stream"}, 200},
		{"HTTP/1.0", "GET", "", nil, 200},
		{"typed into a browser", "GET", "localhost:8080", []string{"Sec-Fetch-Site", "none"}, 200},
		{"another host, as after DNS rebinding", "POST", "evil.example", nil, 421},
		{"another host with a port", "GET", "evil.example:80", nil, 421},
		{"an address", "GET", "127.0.0.1:8080", nil, 421},
		{"a foreign origin", "POST", "localhost", []string{"Origin", "https://evil.example"}, 403},
		{"an origin without a name", "POST", "localhost", []string{"Origin", "null"}, 403},
		{"a cross-site request", "POST", "localhost", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a cross-site image", "GET", "localhost", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a request of a neighbour", "POST", "localhost", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a form", "POST", "localhost", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form with files", "POST", "localhost", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"JSON as text", "POST", "localhost", []string{"Content-Type", "text/plain;charset=UTF-8"}, 415},
		{"no type at all", "POST", "localhost", []string{"Content-Type", ";;"}, 415},
	} {
		q := httptest.NewRequest(tt.method, "http://x/v1/cancel?name=run.a", strings.NewReader("{}"))
		q.Host = tt.host
		for i := 0; i < len(tt.header); i += 2 {
			q.Header.Set(tt.header[i], tt.header[i+1])
		}
		reached := false
		answer := httptest.NewRecorder()
		RefuseWebPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })).ServeHTTP(answer, q)
		if answer.Code != tt.want || reached != (tt.want == 200) {
			t.Errorf("%s: %d (reached: %v), want %d: %s", tt.name, answer.Code, reached, tt.want, answer.Body)
		}
		if tt.want != 200 {
			apitest.Check(q, answer.Result(), func(err error) { t.Errorf("%s: %v", tt.name, err) })
		}
	}
}
