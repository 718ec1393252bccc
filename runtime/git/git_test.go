package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell makes "git sh LINE" run a line of shell, by an alias of our configuration.
const shell = "[alias]\n\tsh = \"!sh -c\"\n"

func newGit(t *testing.T) Git {
	t.Helper()
	g, err := New(t.TempDir(), shell)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestACommandSeesNothingOfItsUser(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_DIR": home, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name",
		"GIT_CONFIG_VALUE_0": "me", "SSH_AUTH_SOCK": "/agent", "AWS_SECRET": "x", "https_proxy": "http://proxy.example",
	} {
		t.Setenv(name, value)
	}
	g := newGit(t)
	out, err := g.Run(t.Context(), "config", "--list", "--name-only")
	if err != nil || strings.Contains(out, "user.name") || !strings.Contains(out, "core.hookspath") {
		t.Errorf("the configuration is %q, %v", out, err)
	}
	env := strings.Join(g.With("MORE=1", "LC_ALL=x").Environment(), "\n")
	for _, secret := range []string{"AWS_SECRET", "/agent", home} {
		if strings.Contains(env, secret) {
			t.Errorf("%s is passed on: %s", secret, env)
		}
	}
	if !strings.Contains(env, "https_proxy=http://proxy.example") || !strings.Contains(env, "PATH=") || !strings.Contains(env, "MORE=1") {
		t.Errorf("the environment lacks something: %s", env)
	}
}

// TestSSHHasNoKeyOfItsUser asks ssh itself what it would use.
func TestSSHHasNoKeyOfItsUser(t *testing.T) {
	g := newGit(t)
	out, err := g.With("GIT_SSH_VARIANT=ssh").Run(t.Context(), "sh", `eval "$GIT_SSH_COMMAND -G git@host.example"`)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{}
	for line := range strings.Lines(strings.ToLower(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		settings[name] = append(settings[name], value)
	}
	for name, want := range map[string]string{
		"identityfile": "none", "identityagent": "none", "identitiesonly": "yes", "batchmode": "yes", "gssapiauthentication": "no",
		"globalknownhostsfile": "/dev/null", "stricthostkeychecking": "accept-new",
	} {
		if got := strings.Join(settings[name], " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := strings.Join(settings["userknownhostsfile"], " "); !strings.HasSuffix(got, "/known_hosts") || strings.Contains(got, "/.ssh/") {
		t.Errorf("hosts are known by %q", got)
	}
}

func TestWhatACommandReadsAndPrints(t *testing.T) {
	t.Parallel()
	g, dir := newGit(t), t.TempDir()
	out, err := g.In(dir).With("A=1").Feed(t.Context(), strings.NewReader("in"), "sh", `cat; echo " $A $PWD"`)
	if err != nil || out != "in 1 "+dir+"\n" {
		t.Errorf("got %q, %v", out, err)
	}
	var b bytes.Buffer
	if err := g.Pipe(t.Context(), nil, &b, "sh", "cat; echo x"); err != nil || b.String() != "x\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
	if err := g.Pipe(t.Context(), nil, nil, "sh", "echo x"); err != nil {
		t.Error(err)
	}
	// A command that does not read its input to the end is no failure, and holds nobody.
	if _, err := g.Feed(t.Context(), io.LimitReader(zeros{}, 1<<20), "sh", "true"); err != nil {
		t.Errorf("input that is not read: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestHowACommandFails(t *testing.T) {
	t.Parallel()
	g := newGit(t).Masking(strings.NewReplacer("s3cret", "***").Replace)
	_, err := g.Run(t.Context(), "sh", "echo 'fatal: no s3cret here' >&2; echo 'hint: think' >&2; echo ' more' >&2; exit 3")
	var failed *Error
	if !errors.As(err, &failed) || failed.Text != "fatal: no *** here; more" || failed.Command != "sh" || err.Error() != "git sh: "+failed.Text {
		t.Errorf("got %v", err)
	}
	if Code(err) != 3 || Killed(err) || !Said(err, "nothing", "no ***") || Said(err, "hint") || Said(nil, "") || Said(io.EOF, "") || Code(nil) != -1 {
		t.Errorf("what is told of %v is wrong", err)
	}
	_, err = g.Run(t.Context(), "sh", "head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1")
	if !errors.As(err, &failed) || len(failed.Text) > maxSaid || !strings.HasSuffix(failed.Text, "end") {
		t.Errorf("got %.100v", err)
	}
	if _, err = g.Printing(1000).Run(t.Context(), "sh", "cat /dev/zero"); !errors.Is(err, ErrTooMuch) || !strings.Contains(err.Error(), "printed more than 1000 bytes") {
		t.Errorf("got %v", err)
	}
	if out, err := g.Printing(1000).Run(t.Context(), "sh", "head -c 1001 /dev/zero"); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d bytes of one that was over: %v", len(out), err)
	}
	if _, err = g.Within(50*time.Millisecond).Run(t.Context(), "sh", "sleep 600"); err == nil || !strings.Contains(err.Error(), "took longer than 50ms") {
		t.Errorf("got %v", err)
	}
	if _, err = g.Run(t.Context(), "sh", `kill -9 $(cut -d" " -f4 /proc/$PPID/stat)`); !Killed(err) || Code(err) != -1 {
		t.Errorf("one that was killed: %v", err)
	}
	if err := g.Pipe(t.Context(), nil, closed{}, "sh", "echo x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("output that nobody takes: %v", err)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestChildrenEndWithTheContext(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- g.Pipe(ctx, nil, write, "sh", "sleep 600 & echo $!; wait") }()
	line := make([]byte, 20)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for deadline := time.Now().Add(time.Minute); alive(child); {
		if time.Now().After(deadline) {
			t.Fatal("the child lives on")
		}
		time.Sleep(time.Millisecond)
	}
}

// alive reports whether a process runs; one that nobody has waited for yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	g := newGit(t).Confined(1 << 30)
	if _, err := g.Feed(t.Context(), strings.NewReader("x"), "hash-object", "--stdin"); err != nil {
		t.Errorf("what needs little: %v", err)
	}
	// Of Git itself, one or two above the shell, which may have begun before the bound was set.
	out, err := g.Feed(t.Context(), strings.NewReader("x"), "sh", "cat >/dev/null; for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do grep 'Max address space' /proc/$p/limits; done")
	if err != nil || !strings.Contains(out, "1073741824") {
		t.Errorf("the bound is %q, %v", out, err)
	}
}

func TestGitThatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := newGit(t).Run(t.Context(), "version"); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
}
