package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/system"

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

func TestPullsOfOneImageAreShared(t *testing.T) {
	var f flights
	one, first := f.join("a")
	two, second := f.join("a")
	if _, other := f.join("b"); one != two || !first || second || !other {
		t.Fatal("two pulls of one image are not one flight")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { <-one.done })
	}
	f.land("a", errors.New("no"))
	wg.Wait()
	if again, first := f.join("a"); one.err == nil || again == one || !first {
		t.Error("a pull that has failed is not tried again")
	}
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
