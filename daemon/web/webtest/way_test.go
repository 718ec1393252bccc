//go:build linux

package webtest

import (
	"context"
	"net/url"
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

	s.stop(syscall.SIGKILL)
	b.away(true)
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
	b.do(chromedp.KeyEvent("gr"))
	b.shows("quickstart")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	b.shows("3 of 3 cells are done")
	b.shows("unresolved")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	b.shows("Rounds")
	b.do(chromedp.KeyEvent("gs"))
	b.shows("quickstart.hcl")
	b.do(chromedp.KeyEvent("/quickstart\r"))
	b.shows("run.quickstart")
	b.do(chromedp.KeyEvent("?"), chromedp.WaitVisible("#help"))
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
