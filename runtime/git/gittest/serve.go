package gittest

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Serve serves the repository in dir at base/team/specs.git, by Git's own HTTP server, to who shows
// the password. Users are the names that went with it, one for each request.
func Serve(tb testing.TB, dir, password string) (base string, users func() []string) {
	tb.Helper()
	execPath, err := exec.CommandContext(tb.Context(), "git", "--exec-path").Output()
	if err != nil {
		tb.Fatal(err)
	}
	git := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Root: "/", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	var mu sync.Mutex
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user, shown, ok := q.BasicAuth()
		if !ok || shown != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		names = append(names, user)
		mu.Unlock()
		q.URL.Path = strings.Replace(q.URL.Path, "/team/specs.git", "/.git", 1)
		git.ServeHTTP(w, q)
	}))
	tb.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return names
	}
}
