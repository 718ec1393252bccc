//go:build linux

package webtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
)

// patience is how long something may take that is quick on a quiet machine.
const patience = 4 * time.Minute

// program is the assayd that is looked at; each package makes it once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "webtest")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "assayd")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=test", "-o", path, "../../assayd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build assayd: %w\n%s", err, text)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // it is a temporary file
	}
	os.Exit(code)
}

// site is a daemon with what serves its pages to a browser.
type site struct {
	*testing.T
	dir     string // state, specs
	daemon  *exec.Cmd
	address string // with a code
}

// newSite starts a daemon on an empty folder of specs, and serves its pages.
func newSite(t *testing.T) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs containers and a browser")
	}
	dir, err := os.MkdirTemp("/tmp", "web") // short, because sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	return newSiteAt(t, dir)
}

// newSiteAt is newSite in a folder, which is removed after the test.
func newSiteAt(t *testing.T, dir string) *site {
	t.Helper()
	s := &site{T: t, dir: dir}
	s.check(os.Mkdir(filepath.Join(dir, "specs"), 0o755))
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		s.sweep()
		s.check(os.RemoveAll(dir))
	})
	s.serve()
	s.address = s.web()
	return s
}

// sweep removes the containers of the daemon that has ended: those of trials at work go on without it.
func (s *site) sweep() {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	state, err := store.Open(ctx, filepath.Join(s.dir, "s"), store.Options{})
	s.check(err)
	owner := state.Owner()
	engine, err := docker.New(ctx, docker.Options{})
	s.check(errors.Join(err, state.Close()))
	containertest.Sweep(s.T, engine, owner)
	s.check(engine.Close())
}

func (s *site) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) program() string {
	s.Helper()
	path, err := program()
	s.check(err)
	return path
}

// serve starts the daemon and waits until it answers.
func (s *site) serve() {
	s.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.check(err)
	defer func() { _ = log.Close() }() // the daemon has it
	s.daemon = exec.Command(s.program(), "serve", "--watch", filepath.Join(s.dir, "specs"), "--state", filepath.Join(s.dir, "s"))
	s.daemon.Stderr = log
	s.check(s.daemon.Start())
	s.until("the daemon is ready", func() error {
		c, err := net.Dial("unix", filepath.Join(s.dir, "s", "web.sock"))
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// stop ends the daemon with a signal.
func (s *site) stop(signal os.Signal) {
	if s.daemon == nil {
		return
	}
	_ = s.daemon.Process.Signal(signal)
	_ = s.daemon.Wait() // it tells of the signal
	s.daemon = nil
}

// web has the pages served at a port, and returns the address that logs a browser in.
func (s *site) web(args ...string) string {
	s.Helper()
	web := exec.Command(s.program(), append([]string{"web", "--state", filepath.Join(s.dir, "s")}, args...)...)
	out, err := web.StdoutPipe()
	s.check(err)
	s.check(web.Start())
	s.Cleanup(func() {
		_ = web.Process.Signal(syscall.SIGINT)
		s.check(web.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	s.check(err)
	return strings.TrimSpace(line)
}

// home is the address of the overview.
func (s *site) home() string {
	u, err := url.Parse(s.address)
	s.check(err)
	return "http://" + u.Host + "/"
}

// code is one with which a browser logs in.
func (s *site) code() string {
	s.Helper()
	u, err := url.Parse(s.web())
	s.check(err)
	return u.Fragment
}

// put copies the quickstart into the watched folder.
func (s *site) put(name string) {
	s.Helper()
	s.check(os.CopyFS(filepath.Join(s.dir, "specs", name), os.DirFS("../../../examples/quickstart")))
}

func (s *site) until(what string, is func() error) {
	s.Helper()
	until(s.T, what, is, func() string {
		log, err := os.ReadFile(filepath.Join(s.dir, "log"))
		if err != nil {
			return err.Error()
		}
		return string(log)
	})
}

// until waits until something is, asked again and again, and fails with why it is not, and with more.
func until(t *testing.T, what string, is func() error, more func() string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		err := is()
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatalf("waited in vain until %s: %v\n%s", what, err, more())
		}
	}
}

// browser is a tab of Chromium. What it says on its console, and every request to another host, is a mistake.
type browser struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	host     string // to which pages may send requests; "" = they are files
	mistakes []string
	missing  bool // the daemon may be away: failed requests are no mistake
}

func (s *site) browser() *browser {
	s.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.ExecPath("chromium"), chromedp.WindowSize(1280, 900),
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), 2*patience)
	allocator, endAllocator := chromedp.NewExecAllocator(whole, options...)
	ctx, end := chromedp.NewContext(allocator)
	u, err := url.Parse(s.address)
	s.check(err)
	b := &browser{T: s.T, ctx: ctx, host: u.Host}
	s.Cleanup(func() {
		end()
		endAllocator()
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range b.mistakes {
			s.Error(m)
		}
	})
	b.do(chromedp.Navigate("about:blank"))
	s.check(chromedp.Listen(ctx, b.hear))
	messages := chromedp.Console(ctx)
	go func() { // it ends with the tab
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type != "debug" { // advice to authors
				b.mistake(fmt.Sprintf("the console says %s: %s", m.Type, m.Text))
			}
		}
	}()
	return b
}

// hear notes each request that leads elsewhere.
func (b *browser) hear(ev any) {
	if q, ok := ev.(*network.EventRequestWillBeSent); ok {
		u, err := url.Parse(q.Request.URL)
		b.mu.Lock()
		host := b.host
		b.mu.Unlock()
		if err != nil || u.Host != host && u.Scheme != "about" {
			b.mistake("a page asks " + q.Request.URL)
		}
	}
}

func (b *browser) mistake(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.missing || !strings.Contains(text, "Failed to load resource") && !strings.Contains(text, "net::ERR") {
		b.mistakes = append(b.mistakes, text)
	}
}

// asks says to which host pages may send requests from now on.
func (b *browser) asks(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host = host
}

// away says whether the daemon may be away.
func (b *browser) away(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = is
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatalf("in the browser: %v\n%s", err, b.text())
	}
}

// text is what the page shows now.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? location.href + "\n" + document.body.innerText : ""`))
	if err != nil {
		return err.Error()
	}
	return text
}

// shows waits until the page shows a text.
func (b *browser) shows(text string) {
	b.Helper()
	until(b.T, fmt.Sprintf("the page shows %q", text), func() error {
		if !strings.Contains(b.text(), text) {
			return errors.New("it does not")
		}
		return nil
	}, b.text)
}

// follow clicks a link, and waits for what the page there shows.
func (b *browser) follow(selector, shows string) {
	b.Helper()
	b.do(chromedp.WaitVisible(selector), chromedp.Click(selector))
	b.shows(shows)
}

// value evaluates an expression that gives a text.
func (b *browser) value(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return text
}

// press presses keys once the page listens to them.
func (b *browser) press(keys string) {
	b.Helper()
	b.do(chromedp.WaitVisible("#keys"), chromedp.KeyEvent(keys))
}
