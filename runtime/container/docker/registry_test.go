package docker_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

// serveRegistry is a registry in memory, behind a guard that may answer itself. It returns
// its "host:port".
func serveRegistry(t *testing.T, guard func(w http.ResponseWriter, q *http.Request) bool) string {
	t.Helper()
	all := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if guard == nil || !guard(w, q) {
			all.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// tagged gives the image a name in the registry, which goes with the test.
func tagged(t *testing.T, e *docker.Engine, image, host string) string {
	t.Helper()
	ref := host + "/assayd-test/pushed:" + containertest.Unique()
	if err := e.Tag(t.Context(), image, ref); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil {
			t.Error(err)
		}
	})
	return ref
}

func TestAnImageIsPushedAndPulledBack(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	e, _, image := dockertest.Probe(t)
	ref := tagged(t, e, image, serveRegistry(t, nil))
	digest, err := e.Push(t.Context(), ref)
	if err != nil || !strings.HasPrefix(digest, "sha256:") {
		t.Fatalf("push: %q, %v", digest, err)
	}
	if again, err := e.Push(t.Context(), ref); err != nil || again != digest {
		t.Errorf("push again: %q, %v", again, err)
	}
	was, err := e.Image(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.RemoveImage(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	back, err := e.Pull(t.Context(), ref, "")
	name := ref[:strings.LastIndexByte(ref, ':')]
	if err != nil || back.ID != was.ID || !slices.Contains(back.Digests, name+"@"+digest) {
		t.Errorf("pulled %+v, %v; want %s and %s", back, err, was.ID, digest)
	}
}

func TestWhatARegistryAnswersIsToldApart(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	e, _ := dockertest.New(t)
	status := func(code int, text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, text)
			return true
		}
	}
	for _, c := range []struct {
		name  string
		guard func(http.ResponseWriter, *http.Request) bool
		want  error
	}{
		{"nothing there", nil, container.ErrNotFound},
		{"503", status(503, "busy"), container.ErrRegistry},
		{"502 with a page", status(502, "<html>bad gateway</html>"), container.ErrRegistry},
		{"429", status(429, `{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}`), container.ErrRegistry},
		{"401", status(401, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`), container.ErrDenied},
		{"403", status(403, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`), container.ErrDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Of pulls only: what a push was refused the engine tries again by itself for a minute.
			if _, err := e.Pull(t.Context(), serveRegistry(t, c.guard)+"/assayd-test/other:1", ""); !errors.Is(err, c.want) {
				t.Errorf("pull: %v", err)
			}
		})
	}
}

func TestTheStoredLoginIsUsed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	e, _, image := dockertest.Probe(t)
	var asked atomic.Int64
	host := serveRegistry(t, func(w http.ResponseWriter, q *http.Request) bool {
		if user, password, ok := q.BasicAuth(); ok && user == "me" && password == "pa:ss" {
			asked.Add(1)
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return true
	})
	ref := tagged(t, e, image, host)
	config := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Pull(t.Context(), ref, ""); !errors.Is(err, container.ErrDenied) {
		t.Errorf("without a login: %v", err)
	}
	config(fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte("me:wrong"))))
	if _, err := e.Pull(t.Context(), ref, ""); !errors.Is(err, container.ErrDenied) {
		t.Errorf("with a wrong login: %v", err)
	}
	login := base64.StdEncoding.EncodeToString([]byte("me:pa:ss"))
	config(fmt.Sprintf(`{"auths":{"https://%s":{"auth":%q}}}`, host, login))
	if _, err := e.Push(t.Context(), ref); err != nil || asked.Load() == 0 {
		t.Errorf("with the login: %v", err)
	}
	helper := "#!/bin/sh\nread server\ntest \"$server\" = '" + host + "' || { echo credentials not found in native keychain; exit 1; }\n" +
		`echo '{"ServerURL":"x","Username":"me","Secret":"pa:ss"}'` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(helper), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, text := range []string{
		fmt.Sprintf(`{"credHelpers":{%q:"test"},"auths":{%q:{}}}`, host, host),
		fmt.Sprintf(`{"credsStore":"test","auths":{%q:{}}}`, host),
	} {
		config(text)
		if _, err := e.Pull(t.Context(), ref, ""); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	other := serveRegistry(t, nil)
	config(`{"credsStore":"test"}`)
	if _, err := e.Push(t.Context(), tagged(t, e, image, other)); err != nil {
		t.Errorf("a registry that the helper does not know: %v", err)
	}
	for _, text := range []string{"{", `{"credsStore":"../sh"}`, fmt.Sprintf(`{"auths":{%q:{"auth":"%%"}}}`, host)} {
		config(text)
		if _, err := e.Push(t.Context(), ref); err == nil || strings.Contains(err.Error(), "pa:ss") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
