//go:build soak && linux

package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// everyPage are the addresses of all pages, by a name, once a run of the quickstart is over.
func (s *site) everyPage(b *browser) map[string]string {
	s.Helper()
	s.put("q")
	b.do(chromedp.Navigate(s.address))
	b.follow(`#board a[href="/runs/quickstart"]`, "3 of 3 cells are done")
	trial := b.value(`[...document.querySelectorAll("#trials tbody tr")].find((r) => r.innerText.includes("apprentice")).querySelector("a").getAttribute("href")`)
	s.check(os.WriteFile(filepath.Join(s.dir, "specs", "wrong.hcl"), []byte("run \"wrong\" {\n  tasks = [benchmark.romann]\n  agent \"nop\" {}\n}\n"), 0o600))
	b.do(chromedp.Navigate(s.home()))
	b.shows("wrong.hcl:2")
	return map[string]string{
		"overview": "", "runs": "runs", "run": "runs/quickstart", "trial": trial[1:], "round": trial[1:] + "/rounds/agent-1", "log": trial[1:] + "/log", "files": trial[1:] + "/files", "spending": "spending", "steps": trial[1:] + "/steps", "between": trial[1:] + "/between/agent-1/agent-2",
		"specs": "specs", "tasks": "tasks", "activity": "activity", "act": "act?verb=throttle&target=run.quickstart", "cancel": "act?verb=cancel&target=run.quickstart", "machine": "machine", "mining": "mining", "problem": "runs/none", "login": "login",
		"compare":      "compare?" + url.Values{"a": {"run.quickstart"}, "b": {"run.quickstart"}}.Encode(),
		"benchmark":    "benchmarks/roman",
		"task":         "benchmarks/roman/tasks/numerals",
		"sides":        "compare?" + url.Values{"a": {"run.quickstart/apprentice"}, "b": {"run.quickstart/oracle"}, "c": {"run.quickstart/nop"}}.Encode(),
		"comparesteps": "compare/steps?" + url.Values{"a": {"run.quickstart/apprentice"}, "b": {"run.quickstart/oracle"}, "task": {"roman.numerals"}}.Encode(),
	}
}

// view sets how wide the window is, and whether the reader wants it dark.
func (b *browser) view(width int64, dark bool) {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// Nothing on a page is wider than the window, and axe finds nothing, in four widths, light and dark.
func TestSoakEveryPageCanBeReadByEverybody(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	b := s.browser()
	pages := s.everyPage(b)
	b.away(true) // the page of a problem is answered with 404, and the browser says so
	for _, width := range []int64{360, 768, 1280, 1920} {
		for _, dark := range []bool{false, true} {
			b.view(width, dark)
			for name, path := range pages {
				b.do(chromedp.Navigate(s.home() + path))
				wide := b.value(`String(document.documentElement.scrollWidth - window.innerWidth)`)
				if wide != "0" && !strings.HasPrefix(wide, "-") {
					t.Errorf("%s at %d: it is %s pixels wider than the window", name, width, wide)
				}
				if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined")); err != nil {
					t.Fatal(err)
				}
				found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")).join("\n"))`, chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatal(err)
				}
				if found != "" {
					t.Errorf("%s at %d, dark %v: %s", name, width, dark, found)
				}
			}
		}
	}
}

// Pictures of all pages are taken. With ASSAYD_PICTURES they are kept, in that folder.
func TestSoakPictures(t *testing.T) {
	dir := os.Getenv("ASSAYD_PICTURES")
	if dir == "" {
		dir = t.TempDir()
	}
	home := "/tmp/demo" // it can be read in pictures
	if err := errors.Join(os.RemoveAll(home), os.Mkdir(home, 0o755)); err != nil {
		t.Fatal(err)
	}
	s := newSiteAt(t, home)
	b := s.browser()
	pages := s.everyPage(b)
	b.away(true)
	for _, dark := range []bool{false, true} {
		b.view(1280, dark)
		for name, path := range pages {
			b.do(chromedp.Navigate(s.home() + path))
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			s.check(err)
			if dark {
				name += "-dark"
			}
			s.check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.png", name)), picture, 0o644))
		}
	}
}
