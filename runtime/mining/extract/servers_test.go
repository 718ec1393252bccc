package extract

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/reason"
)

func TestServersOfAllKinds(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, base, p := shop(t, forge)
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := func(args ...string) *cgi.Handler {
		return &cgi.Handler{
			Path: path, Args: append([]string{"-c", "safe.directory=*"}, append(args, "http-backend")...), Logger: log.New(io.Discard, "", 0), Stderr: io.Discard,
			Env: []string{"GIT_PROJECT_ROOT=" + forge, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}, InheritEnv: []string{"PATH"},
		}
	}
	plain := backend()
	for name, tt := range map[string]struct {
		handler  http.Handler
		contents int // files that are there of one change
	}{
		"one that gives parts of a commit": {backend("-c", "uploadpack.allowFilter=true"), 2},
		"one that knows no filter":         {plain, 13},
		"one that gives no single commits": {http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			q.Header.Del("Git-Protocol")
			plain.ServeHTTP(w, q)
		}), 13},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			r := repositories(t, server.URL, Options{})
			change, err := r.Change(t.Context(), p)
			if err != nil || change.Base != base {
				t.Fatalf("from %q: %v", change.Base, err)
			}
			if n := contents(t, folder(r)); n != tt.contents {
				t.Errorf("%d files were fetched instead of %d", n, tt.contents)
			}
			if found, err := r.Has(t.Context(), "acme/shop", base, []string{"errBroken"}); err != nil || !found["errBroken"] {
				t.Errorf("%v, %v", found, err)
			}
			lost := p
			lost.MergeSHA = strings.Repeat("12", 20)
			if _, err := r.Change(t.Context(), lost); code(err) != "unreachable" {
				t.Errorf("a commit that is nowhere: %v", err)
			}
			lost.Repo = "acme/none"
			if _, err := r.Change(t.Context(), lost); code(err) != "unreachable" {
				t.Errorf("a repository that is nowhere: %v", err)
			}
		})
	}
}

// A server that is away says nothing of a pull request.
func TestServersThatAreAway(t *testing.T) {
	t.Parallel()
	_, _, p := shop(t, t.TempDir())
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		away    bool
		code    string
	}{
		"one with too much to do": {status(http.StatusServiceUnavailable), true, ""},
		"a gate whose server is":  {status(http.StatusBadGateway), true, ""},
		"one with limits":         {status(http.StatusTooManyRequests), true, ""},
		"one that hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = c.Close()
			}
		}, true, ""},
		"one that wants to know who asks": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, false, "unreachable"},
		"one that has it not":       {status(http.StatusNotFound), false, "unreachable"},
		"one that gives it to none": {status(http.StatusForbidden), false, ""},
		"one that has to keep it":   {status(http.StatusUnavailableForLegalReasons), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			_, err := repositories(t, server.URL, Options{}).Change(t.Context(), p)
			_, away := errors.AsType[*Unavailable](err)
			if r := reason.Of(err); err == nil || away != tt.away || (r != nil) != (tt.code != "") || r != nil && r.Code != tt.code {
				t.Errorf("away %t: %v", away, err)
			}
		})
	}
	r := repositories(t, "http://127.0.0.1:1", Options{})
	if _, err := r.Has(t.Context(), p.Repo, p.MergeSHA, []string{"x"}); err == nil {
		t.Error("nobody answers")
	} else if _, away := errors.AsType[*Unavailable](err); !away {
		t.Errorf("nobody answers: %v", err)
	}
}

// Git would ask such a server for one object after the other, and by the way for those that are
// missing, without an end.
func TestAServerThatOnlyHasFiles(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, _, p := shop(t, forge)
	o.git("update-server-info")
	server := httptest.NewServer(http.FileServer(http.Dir(forge)))
	defer server.Close()
	r := repositories(t, server.URL, Options{})
	if _, err := r.Change(t.Context(), p); err == nil || reason.Of(err) != nil || !strings.Contains(err.Error(), "shallow") {
		t.Errorf("got %v", err)
	}
}

func TestPasswordsAreNotTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, _, p := shop(t, t.TempDir())
	r := repositories(t, strings.Replace(server.URL, "http://", "http://mary:s3cret@", 1), Options{})
	if _, err := r.Change(t.Context(), p); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "acme/shop") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{Dir: t.TempDir(), Forge: "--upload-pack=x"}); err == nil {
		t.Error("an option passes for an address")
	}
}
