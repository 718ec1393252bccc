package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/container"
)

func TestErrorsAreClassified(t *testing.T) {
	for text, want := range map[string]error{
		`OCI runtime create failed: runc create failed: unable to start container process: exec: "git": executable file not found in $PATH: unknown`: container.ErrCommandNotFound,
		`OCI runtime exec failed: exec failed: unable to start container process: exec: "/x": stat /x: no such file or directory: unknown`:           container.ErrCommandNotFound,
		`OCI runtime create failed: chdir to cwd ("/x") set in config.json failed: no such file or directory`:                                        nil,
		`write /var/lib/docker/tmp/x: no space left on device`:                                                                                       container.ErrNoSpace,
		`client version 1.56 is too new. Maximum supported API version is 1.41`:                                                                      container.ErrUnavailable,
		`connection error: desc = "transport: error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`:          container.ErrUnavailable,
		`unable to upgrade to tcp, received 409`:                                                                                                     container.ErrConflict,
		`Error response from daemon: Container x is paused, unpause the container before exec`:                                                       container.ErrConflict,
		`OCI runtime exec failed: cannot exec in a paused state: unknown`:                                                                            container.ErrConflict,
		`OCI runtime exec failed: exec failed: cannot exec in a paused container (use --ignore-paused to override): unknown`:                         container.ErrConflict,
		`Cannot pause container x: OCI runtime pause failed: unable to freeze: unknown`:                                                              nil,
		`something else`: nil,
	} {
		if got := kindOf(errors.New(text)); !errors.Is(got, want) {
			t.Errorf("%s\nis %v, want %v", text, got, want)
		}
	}
}

func TestAPullsErrorSaysWhoseFaultItIs(t *testing.T) {
	for text, want := range map[string]string{
		"manifest for a/b:1 not found: manifest unknown: manifest unknown":                            "registry r.example does not have it",
		"pull access denied for a/b, repository does not exist or may require 'docker login': denied": "registry r.example does not have it",
		"no matching manifest for linux/arm64/v8 in the manifest list entries":                        "registry r.example does not have it",
		`Get "https://r.example/v2/": dial tcp: lookup r.example: no such host`:                       "no name server knows r.example",
		`Get "https://r.example/v2/": dial tcp: lookup r.example: i/o timeout`:                        "registry r.example cannot be reached",
		`Get "https://r.example/v2/": net/http: TLS handshake timeout`:                                "registry r.example cannot be reached",
		"toomanyrequests: You have reached your pull rate limit":                                      "toomanyrequests",
		"received unexpected HTTP status: 503 Service Unavailable":                                    "or not now",
	} {
		got := explain(errors.New(text), "r.example")
		if !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), text) {
			t.Errorf("%q became %q, want %q in it", text, got, want)
		}
		if missing := errors.Is(got, container.ErrNotFound); missing != strings.Contains(want, "does not have") {
			t.Errorf("%q: not found is %t", text, missing)
		}
		if silent := errors.Is(got, container.ErrNoAnswer); silent != strings.Contains(want, "cannot be reached") {
			t.Errorf("%q: no answer is %t", text, silent)
		}
		if final := container.Final(got); final == container.Passes(got) || final != (strings.Contains(want, "does not have") || strings.Contains(want, "no name server")) {
			t.Errorf("%q: final is %t, and passes is %t", text, final, container.Passes(got))
		}
	}
}

// answers is a Docker engine in memory.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(q *http.Request) (*http.Response, error) { return a(q) }

func TestPullsOfOneImageAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pulls, release := map[string]int{}, make(chan struct{})
		var lock sync.Mutex
		streams, err := client.New(client.WithAPIVersion("1.44"), client.WithHTTPClient(&http.Client{Transport: answers(func(q *http.Request) (*http.Response, error) {
			lock.Lock()
			pulls[q.URL.Query().Get("fromImage")]++
			lock.Unlock()
			<-release
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"errorDetail":{"message":"no"},"error":"no"}`))}, nil
		})}))
		if err != nil {
			t.Fatal(err)
		}
		e := &Engine{log: slog.New(slog.DiscardHandler), streams: streams, life: t.Context()}
		var all sync.WaitGroup
		pull := func(ctx context.Context, ref, want string) {
			all.Go(func() {
				if _, err := e.Pull(ctx, ref, ""); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", ref, err, want)
				}
			})
		}
		impatient, leave := context.WithCancel(t.Context())
		pull(impatient, "example.test/a", "context canceled")
		synctest.Wait() // it is the first, and goes
		pull(t.Context(), "example.test/a", "no")
		pull(t.Context(), "example.test/a", "no")
		pull(t.Context(), "example.test/b", "no")
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		all.Wait()
		e.work.Wait()
		if a, b := pulls["example.test/a"], pulls["example.test/b"]; a != 1 || b != 1 {
			t.Errorf("%d pulls of one image and %d of the other", a, b)
		}
		pull(t.Context(), "example.test/a", "no")
		all.Wait()
		if pulls["example.test/a"] != 2 {
			t.Error("a pull that has failed is not tried again")
		}
	})
}

func TestManyHintsBecomeOne(t *testing.T) {
	var pending []string
	for i := range pendingHints {
		pending = enqueue(enqueue(pending, fmt.Sprint(i)), fmt.Sprint(i))
	}
	if len(pending) != pendingHints {
		t.Errorf("%d hints wait, want %d", len(pending), pendingHints)
	}
	pending = enqueue(enqueue(pending, "one more"), "and more")
	if len(pending) != 1 || pending[0] != "" {
		t.Errorf("hints %q wait, want one for all", pending)
	}
}

func TestQuotasAreKnownFromTheMount(t *testing.T) {
	const root = "36 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
	for _, c := range []struct {
		name, driver, mounts string
		want                 bool
	}{
		{"overlay2 on ext4", "overlay2", root, false},
		{"xfs with project quotas", "overlay2", root + "40 36 8:2 / /var/lib rw shared:1 - xfs /dev/sdb1 rw,attr2,prjquota\n", true},
		{"xfs without", "overlay2", root + "40 36 8:2 / /var/lib rw - xfs /dev/sdb1 rw,noquota\n", false},
		{"xfs elsewhere", "overlay2", root + "40 36 8:2 / /var/library rw - xfs /dev/sdb1 rw,prjquota\n", false},
		{"hidden by a later mount", "overlay2", "40 36 8:2 / /var/lib rw - xfs /dev/sdb1 rw,prjquota\n41 36 8:3 / /var/lib rw - ext4 /dev/sdc1 rw\n", false},
		{"btrfs", "btrfs", "", true},
		{"nonsense", "overlay2", "- \n a - b\n", false},
	} {
		info := system.Info{Driver: c.driver, DockerRootDir: "/var/lib/docker"}
		if got := enforcesQuota(info, strings.NewReader(c.mounts)); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestImportInstructionsAreQuoted(t *testing.T) {
	lines, err := instructions(container.ImageConfig{
		User: "1:1", Workdir: "/w", Env: map[string]string{"A": `x "y" $HOME \`}, Cmd: []string{"a b", `"`},
	})
	want := "USER 1:1|WORKDIR /w|ENV A=\"x \\\"y\\\" \\$HOME \\\\\"|CMD [\"a b\",\"\\\"\"]"
	if got := strings.Join(lines, "|"); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := instructions(container.ImageConfig{Env: map[string]string{"A": "x\nRUN y"}}); err == nil {
		t.Error("a line break was let through")
	}
}

func TestTheCauseWinsOverItsConsequence(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := failure(ctx, errors.New("connection closed"), "do %s", "it"); !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "do it: ") {
		t.Error(err)
	}
}
