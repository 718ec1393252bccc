package github

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSetStatus(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tokens []string
		ok     bool
		asked  string // tokens, in their order
		err    string
	}{
		{"the first token may", []string{"good"}, true, "good", ""},
		{"one that may not is followed by the next", []string{"read-only", "unknown", "good", "never"}, false, "read-only unknown good", ""},
		{"none may", []string{"read-only"}, true, "read-only", "403"},
		{"a failure of the host's is no matter of the token", []string{"broken", "good"}, true, "broken", "500"},
		{"there is none", nil, true, "", "no token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				token := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
				asked = append(asked, token)
				if code := map[string]int{"read-only": 403, "unknown": 404, "broken": 500}[token]; code != 0 {
					w.WriteHeader(code)
					return
				}
				body, _ := io.ReadAll(q.Body)
				var s struct{ State, Context, Description string }
				if err := json.Unmarshal(body, &s); err != nil {
					t.Error(err)
				}
				want := map[bool]string{true: "success", false: "failure"}[tt.ok]
				if q.Method != http.MethodPost || q.URL.Path != "/api/v3/repos/o/r/statuses/c0ffee" || s.State != want || s.Context != "x" || len([]rune(s.Description)) != 140 {
					t.Errorf("%s %s %+v", q.Method, q.URL.Path, s)
				}
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, "{}")
			}))
			defer server.Close()
			c, err := New(server.URL+"/api/v3", tt.tokens)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = c.SetStatus(t.Context(), "o", "r", "c0ffee", Status{Context: "x", OK: tt.ok, Description: strings.Repeat("ä", 200)})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("it ends with %v, want %q", err, tt.err)
			}
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked with %q, want %q", got, tt.asked)
			}
		})
	}
}

func TestATokenIsNotShownToWhereOneIsRedirected(t *testing.T) {
	seen := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen += q.Header.Get("Authorization")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "{}")
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, other.URL+q.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c, err := New(server.URL, []string{"secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetStatus(t.Context(), "o", "r", "c0ffee", Status{}) // what counts is what the other saw
	if seen != "" {
		t.Errorf("another host saw %q", seen)
	}
}

func TestAnAddressThatIsNone(t *testing.T) {
	if _, err := New("nowhere", nil); err == nil {
		t.Error("a client of nowhere is made")
	}
}
