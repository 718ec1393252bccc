//go:build linux

package webtest

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A person opens the address of assayd web, sees a run come and end by itself, finds out why a trial's round failed,
// compares, and goes away. A daemon that is killed meanwhile is missed, and seen again.
func TestAPersonsWay(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.shows("No run is declared")
	s.put("q")
	b.shows("quickstart") // by itself
	b.follow(`#board a[href="/runs/quickstart"]`, "run.quickstart")
	b.shows("3 of 3 cells are done") // by itself, as it works
	b.shows("apprentice")
	b.shows("Matrix")

	b.away(true) // before: the browser may say at once that it lost the events
	s.stop(syscall.SIGKILL)
	b.shows("the daemon does not answer")
	s.serve()
	b.shows("live, as of")
	if text := b.text(); strings.Count(text, "quickstart.e1.") != 3 {
		t.Errorf("after the daemon came back, not each trial is there once: %s", text)
	}
	b.away(false)

	trial := b.value(`[...document.querySelectorAll("#trials tbody tr")].find((r) => r.innerText.includes("apprentice")).querySelector("a").getAttribute("href")`)
	b.follow(`#trials a[href="`+trial+`"]`, "tests pass in the best round")
	b.follow(`#rounds a[href$="/rounds/agent-1"]`, "Output of the judge command")
	b.shows("test_subtracting")
	b.do(chromedp.Navigate(s.home() + strings.TrimPrefix(trial, "/") + "/log"))
	b.shows("bytes 0 to")
	b.do(chromedp.Navigate(s.home() + strings.TrimPrefix(trial, "/") + "/between/agent-1/agent-2"))
	b.shows("passes now")
	b.shows("src/")
	b.do(chromedp.Navigate(s.home() + "compare?" + url.Values{"a": {"run.quickstart"}, "b": {"run.quickstart"}}.Encode()))
	b.shows("apprentice in run.quickstart e1 beside apprentice in run.quickstart e1")
	b.do(chromedp.SetValue("#go", "quickstart"), chromedp.Submit("#go"))
	b.shows("run.quickstart e1")

	b.do(chromedp.Click(`form[action="/logout"] button`))
	b.shows("Log in")
	b.do(chromedp.Navigate(s.home() + "runs/quickstart"))
	b.shows("Log in") // the session is over
}

// The same with keys alone.
func TestTheWayByKeys(t *testing.T) {
	s := newSite(t)
	s.put("q")
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.shows("Overview")
	b.press("gr")
	b.shows("quickstart")
	b.press("j\r")
	b.shows("3 of 3 cells are done")
	b.shows("unresolved")
	b.press("j\r")
	b.shows("Rounds")
	b.press("gs")
	b.shows("quickstart.hcl")
	b.press("/")
	b.do(chromedp.SetValue("#go", "quickstart")) // the protocol types the / as well
	b.press("\r")
	b.shows("run.quickstart")
	b.press("?")
	b.do(chromedp.WaitVisible("#help"))
}

// Without scripts every page is complete.
func TestTheWayWithoutScripts(t *testing.T) {
	s := newSite(t)
	s.put("q")
	b := s.browser()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	code := s.code()
	b.do(chromedp.Navigate(s.home()), chromedp.WaitVisible(`input[name="secret"]`), chromedp.SendKeys(`input[name="secret"]`, code+"\r"))
	b.shows("Overview")
	for !strings.Contains(b.text(), "3 of 3 cells are done") {
		b.do(chromedp.Navigate(s.home() + "runs/quickstart"))
	}
	b.shows("Matrix")
	b.follow(`ul.counts a[href*="status=resolved"]`, "without filters")
	b.follow(`#trials tbody a`, "tests pass in the best round")
	b.follow(`#rounds tbody a`, "Output of the judge command")
}

// The pages in files open from the disk, and lead from the run to a round, with all that is asked for.
func TestPagesInFiles(t *testing.T) {
	s := newSite(t)
	s.put("q")
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.follow(`#board a[href="/runs/quickstart"]`, "3 of 3 cells are done")
	for _, tt := range []struct {
		args       []string
		shows, not string
	}{
		{[]string{"--with", "tests,outputs,logs,steps,diffs"}, "test_subtracting", "Go to"},
		{nil, "verdict", "test_subtracting"},
		{[]string{"--public"}, "verdict", "test_subtracting"},
	} {
		dir := filepath.Join(s.dir, fmt.Sprintf("html%d", len(tt.args)+len(tt.not)))
		args := append([]string{"export", "html", "run.quickstart", dir, "--state", filepath.Join(s.dir, "s")}, tt.args...)
		if text, err := exec.CommandContext(t.Context(), s.program(), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		b.asks("") // but files
		b.do(chromedp.Navigate("file://" + dir + "/index.html"))
		b.shows("run.quickstart e1")
		b.do(chromedp.Click(`//tr[contains(., "apprentice")]//a[contains(@href, "trials")]`))
		b.shows("tests pass in the best round")
		b.follow(`#rounds a[href*="agent-1"]`, tt.shows)
		if text := b.text(); strings.Contains(text, tt.not) {
			t.Errorf("%v: the page of a round has %q: %s", args, tt.not, text)
		}
		if len(tt.args) == 1 {
			s.tellsNothing(dir)
		}
	}
}

// tellsNothing reports what of the hidden files, or of this machine, stands in the files of a folder.
func (s *site) tellsNothing(dir string) {
	s.Helper()
	hidden := []string{s.dir, "tests/"}
	tests := os.DirFS("../../../examples/quickstart/judge")
	names := regexp.MustCompile(`\btest_\w+`)
	s.check(fs.WalkDir(tests, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tests, path)
		hidden = append(append(hidden, e.Name()), names.FindAllString(string(text), -1)...)
		return err
	}))
	if len(hidden) < 6 {
		s.Errorf("only %q are looked for", hidden)
	}
	s.check(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range hidden {
			if strings.Contains(string(text), name) {
				s.Errorf("%s has %q", path, name)
			}
		}
		return err
	}))
}

// What an agent prints, names files, and what a judge calls tests makes no element, no link, and no title on any page.
func TestHostileTextAttacksNobody(t *testing.T) {
	s := newSite(t)
	s.check(os.CopyFS(filepath.Join(s.dir, "specs", "h"), os.DirFS("testdata/hostile")))
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.follow(`#board a[href="/runs/attack"]`, "1 of 1 cell is done")
	trial := b.value(`document.querySelector("#trials tbody a").getAttribute("href")`)
	for path, shows := range map[string]string{
		trial: "agent-2", trial + "/rounds/agent-1": "<script>document.title", trial + "/log": "I print <script>", trial + "/between/agent-1/agent-2": "<img src=x",
		"/": "attack", "/runs/attack": "attacker",
	} {
		b.do(chromedp.Navigate(s.home() + strings.TrimPrefix(path, "/")))
		b.shows(shows)
		if found := b.value(`document.title + [...document.querySelectorAll("script:not([src]), img, a[href^=javascript]")].map((e) => e.outerHTML).join()`); strings.Contains(found, "attacked") || strings.Contains(found, "<") {
			t.Errorf("%s: hostile text is %s", path, found)
		}
		if text := b.text(); strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s shows what steers a terminal or turns letters: %q", path, text)
		}
	}
}
