//go:build linux

package webtest

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// waiting is a run whose agent only waits.
const waiting = `
agent "waiter" {
  command = "sleep 3000"
}

run "wait" {
  tasks     = [benchmark.roman]
  timeout   = "50m"
  auto_eval = "0s"
  parallel  = 4
  agent "waiter" {}
  work {
    cpus = 0.5
  }
}
`

// act fills in the form of a verb, sends it, and waits for what the page of its target shows then.
func (b *browser) act(s *site, verb, target string, fields map[string]string, shows string) {
	b.Helper()
	b.do(chromedp.Navigate(s.home()+"act?"+url.Values{"verb": {verb}, "target": {target}}.Encode()), chromedp.WaitVisible(`form.act button`))
	for name, value := range fields {
		b.do(chromedp.SetValue(`form.act input[name="`+name+`"]`, value))
	}
	b.do(chromedp.Click(`form.act button`))
	b.shows(shows)
}

// An operator has each verb of pages do what it says, sees it on the page of the target, and later who asked for it.
func TestAnOperatorActsOnPages(t *testing.T) {
	s := newSite(t)
	s.put("q")
	s.check(os.WriteFile(filepath.Join(s.dir, "specs", "wait.hcl"), []byte(waiting), 0o600))
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.follow(`#board a[href="/runs/wait"]`, "run.wait")
	b.shows("working")
	trial := b.value(`document.querySelector("#trials tbody a").innerText`)
	path := b.value(`document.querySelector("#trials tbody a").getAttribute("href")`)

	b.away(true) // what is refused is answered with 400, and the browser says so
	b.act(s, "throttle", "run.wait", map[string]string{"amount": "0"}, "whole number")
	b.act(s, "throttle", "run.wait", map[string]string{"amount": "2", "text": "it is slow"}, "throttled to 2")
	b.follow(`.verbs a[href*="verb=unthrottle"]`, "may begin, as far as nothing else holds them")
	b.do(chromedp.Click(`form.act button`), chromedp.WaitVisible(`.verbs a[href*="verb=throttle"]`))
	b.act(s, "note", trial, map[string]string{"text": "it waits on purpose"}, "it waits on purpose")
	b.act(s, "tag", trial, map[string]string{"text": "suspect"}, "suspect")

	b.act(s, "extend", trial, map[string]string{"amount": "1d"}, "30m or 2h")
	b.act(s, "extend", trial, map[string]string{"amount": "1h", "text": "the disk was full"}, "A user moved the deadline")
	b.shows("extended") // the flag, once the agent knows
	b.act(s, "stop", trial, map[string]string{"text": "enough"}, "Reason: stopped")

	b.do(chromedp.Navigate(s.home()))
	b.follow(`.verbs a[href*="verb=pause"]`, "pause all")
	b.do(chromedp.Click(`form.act button`), chromedp.WaitVisible(`.verbs a[href*="verb=resume"]`))
	b.follow(`.verbs a[href*="verb=resume"]`, "resume all")
	b.do(chromedp.Click(`form.act button`), chromedp.WaitVisible(`.verbs a[href*="verb=drain"]`))
	b.act(s, "drain", "all", nil, "Overview")
	b.do(chromedp.WaitVisible(`.verbs a[href*="verb=resume"]`))

	b.do(chromedp.Navigate(s.home() + "activity"))
	for _, said := range []string{"throttle", "unthrottle", "it is slow", "extend", "the disk was full", "stop", "enough", "pause", "resume", trial, "operator"} {
		b.shows(said)
	}
	b.do(chromedp.Navigate(s.home() + path[1:]))
	b.shows("it waits on purpose")
}
