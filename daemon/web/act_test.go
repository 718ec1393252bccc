package web

import (
	"context"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/control"
)

// acts notes what pages ask for.
func (f *fixture) acts() *[]string {
	var asked []string
	f.pages.o.Act = func(ctx context.Context, a Action) (control.Changed, error) {
		if who := control.Of(ctx); !a.Dry {
			asked = append(asked, strings.Join([]string{a.Verb, a.Target, a.Text, a.Amount, who.By, string(who.Via)}, "|"))
		}
		return control.Changed{Target: a.Target, Changed: true}, nil
	}
	return &asked
}

// Operators act by forms that name the effect, without a script; to cancel, the address is typed.
func TestOperatorsActOnPages(t *testing.T) {
	f := newFixture(t, 3)
	asked := f.acts()
	f.login(Operator)
	if _, text := f.do("GET", "/runs/r", nil); !strings.Contains(text, `href="/act?target=run.r&amp;verb=pause"`) {
		t.Errorf("the page of the run has no button:\n%s", text)
	}
	a, text := f.do("GET", "/act?verb=pause&target=run.r", nil)
	if a.StatusCode != 200 || !strings.Contains(text, "Nothing new begins: 0 trials work on, and are judged; 0 wait.") || !strings.Contains(text, `<form class="act" action="/act" method="post">`) {
		t.Errorf("the page of a pause: %d %s", a.StatusCode, text)
	}
	for path, says := range map[string][]string{
		"/act?verb=throttle&target=run.r":       {`name="amount"`, "Trials at once"},
		"/act?verb=extend&target=r.e1.0a1b2c3d": {`name="amount"`, "stays the one that is reported"},
		"/act?verb=drain&target=all":            {`name="text"`, "Nothing new begins anywhere"},
		"/":                                     {`href="/act?target=all&amp;verb=pause"`, `href="/act?target=all&amp;verb=drain"`},
	} {
		_, text := f.do("GET", path, nil)
		for _, want := range says {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s:\n%s", path, want, text)
			}
		}
	}
	hostile := `<script>alert(1)</script>`
	for _, tt := range []struct {
		form   url.Values
		status int
		says   string
	}{
		{url.Values{"verb": {"pause"}, "target": {"run.r"}, "text": {" incident "}}, 303, ""},
		{url.Values{"verb": {"throttle"}, "target": {"run.r"}, "amount": {" 3 "}, "text": {"slow"}}, 303, ""},
		{url.Values{"verb": {"cancel"}, "target": {"run.r"}}, 400, "Type run.r exactly"},
		{url.Values{"verb": {"cancel"}, "target": {"run.r"}, "typed": {"run.s"}}, 400, "Type run.r exactly"},
		{url.Values{"verb": {"cancel"}, "target": {"run.r"}, "typed": {"run.r"}}, 303, ""},
		{url.Values{"verb": {"cancel"}, "target": {hostile}}, 400, html.EscapeString("Type " + hostile)},
		{url.Values{"verb": {"rerun"}, "target": {"run.r"}}, 400, "no verb"},
		{url.Values{"verb": {"pause"}}, 400, "has a target"},
	} {
		a, text := f.do("POST", "/act", tt.form)
		if a.StatusCode != tt.status || !strings.Contains(text, tt.says) || strings.Contains(text, hostile) {
			t.Errorf("%v: %d %s", tt.form, a.StatusCode, text)
		}
		if tt.status == 303 && a.Header.Get("Location") != "/runs/r" {
			t.Errorf("%v leads to %q", tt.form, a.Header.Get("Location"))
		}
	}
	if diff := cmp.Diff([]string{"pause|run.r|incident||operator (code)|page", "throttle|run.r|slow|3|operator (code)|page", "cancel|run.r|||operator (code)|page"}, *asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// Who only looks, has not logged in, or was sent by another site, does nothing.
func TestNobodyElseActs(t *testing.T) {
	f := newFixture(t, 3)
	asked := f.acts()
	form := url.Values{"verb": {"pause"}, "target": {"run.r"}}
	if a, _ := f.do("POST", "/act", form); a.StatusCode != 303 || a.Header.Get("Location") != "/login" {
		t.Errorf("without a session: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	f.login(Viewer)
	if _, text := f.do("GET", "/runs/r", nil); strings.Contains(text, "/act?") {
		t.Error("a viewer sees buttons")
	}
	for _, method := range []string{"GET", "POST"} {
		values := form
		if method == "GET" {
			values = nil
		}
		if a, text := f.do(method, "/act?"+form.Encode(), values); a.StatusCode != 403 || !strings.Contains(text, "only looks") {
			t.Errorf("%s of a viewer: %d %s", method, a.StatusCode, text)
		}
	}
	f.login(Operator)
	for _, header := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"}} {
		if a, _ := f.do("POST", "/act", form, header...); a.StatusCode != 403 {
			t.Errorf("%v: %d", header, a.StatusCode)
		}
	}
	if len(*asked) > 0 {
		t.Errorf("it was done: %v", *asked)
	}
}
