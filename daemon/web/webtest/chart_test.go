//go:build linux

package webtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Curves answer a mouse with the numbers of the report, can be looked at in other ways, stay when the page takes new
// numbers, and are pictures on paper.
func TestCurvesAnswerAMouse(t *testing.T) {
	s := newSite(t)
	s.put("q")
	b := s.browser()
	b.do(chromedp.Navigate(s.address))
	b.follow(`#board a[href="/runs/quickstart"]`, "3 of 3 cells are done")
	b.do(chromedp.Navigate(s.home() + "runs/quickstart/e1"))
	b.do(chromedp.WaitVisible("#plot canvas"), chromedp.ScrollIntoView("#plot .u-over"))
	if shown := b.value(`[...document.querySelectorAll(".pictures svg")].filter((x) => x.checkVisibility()).length + ""`); shown != "0" {
		t.Errorf("%s pictures are shown beside the chart", shown)
	}
	over := func(share float64) string {
		at := strings.Fields(b.value(fmt.Sprintf(`(() => { const r = document.querySelector("#plot .u-over").getBoundingClientRect(); return (r.x + %g * r.width) + " " + (r.y + r.height / 2); })()`, share)))
		x, err := strconv.ParseFloat(at[0], 64)
		s.check(err)
		y, err := strconv.ParseFloat(at[1], 64)
		s.check(err)
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
		return b.value(`document.querySelector("#plot .values").innerText`)
	}
	wants := b.value(`(() => { const p = JSON.parse(document.querySelector("[data-plot]").dataset.plot); const c = p.measures[0].curves.find((c) => p.agents[c.agent] == "apprentice"); return "apprentice " + c.value[p.x.length - 1].toFixed(2); })()`)
	end := over(0.999)
	if !strings.Contains(end, wants) {
		t.Errorf("over its end the chart tells %q, want %q", end, wants)
	}
	if begin := over(0.001); begin == end || !strings.Contains(begin, "at 0s") {
		t.Errorf("over its beginning the chart tells %q, and over its end %q", begin, end)
	}
	b.do(chromedp.Click("#plot-log"), chromedp.Click("#plot-intervals"))
	if told := over(0.999); !strings.Contains(told, wants) || strings.Contains(told, "–") {
		t.Errorf("with the logarithm of time and without intervals it tells %q", told)
	}
	s.looksAgain(b)
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}))
	if shown := b.value(`document.querySelector("#plot").checkVisibility() + " " + document.querySelector(".pictures svg").checkVisibility()`); shown != "false true" {
		t.Errorf("on paper are chart and picture: %s", shown)
	}
}

// looksAgain has the page take its numbers once more, and reports whether the chart is another one then.
func (s *site) looksAgain(b *browser) {
	s.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#plot canvas").id = "marked"; undefined`))
	if text, err := exec.CommandContext(s.Context(), s.program(), "rerun", "run.quickstart", "--state", filepath.Join(s.dir, "s")).CombinedOutput(); err != nil {
		s.Fatalf("rerun: %v\n%s", err, text)
	}
	until(s.T, "the page has looked at its numbers again", func() error {
		if b.value(`performance.getEntriesByType("resource").filter((e) => e.name.includes("part=numbers") && e.responseEnd > 0).length + ""`) == "0" {
			return errors.New("it has not")
		}
		return nil
	}, b.text)
	if found := b.value(`document.querySelectorAll("#plot canvas#marked").length + " " + document.querySelector("#plot").checkVisibility() + " " + document.querySelector("#plot-log").checked`); found != "1 true true" {
		s.Errorf("after the page took its numbers again, of the chart there is: %s", found)
	}
}
