package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/report"
)

//go:embed templates
var sources embed.FS

// Frame is what is around the content of a page.
type Frame struct {
	Title    string
	Nav      string   // the entry of the navigation that the page belongs to
	Version  string   // of the daemon
	Role     string   // of who looks; "" = nobody has logged in
	Topics   []string // of events after which the page looks again; empty = all, nil = it never does
	AsOf     time.Time
	ReadOnly bool   // no daemon runs: nothing changes
	Again    bool   // it lacks what is being made, and looks again soon
	Plots    bool   // it may have curves that a script draws
	Still    *Still // nil = it is served, not written
	Numbers  bool   // who looks sees numbers, and no text of agents and hidden tests
}

// Follows reports whether the page looks again when something changes.
func (f *Frame) Follows() bool { return f.Topics != nil && f.Role != "" && !f.ReadOnly }

// Events is the address of the events that the page follows.
func (f *Frame) Events() string { return "/v1/events?" + url.Values{"topic": f.Topics}.Encode() }

// View is one page.
type View interface{ frame() *Frame }

func (f *Frame) frame() *Frame { return f }

// pages are the templates of all pages, by name.
var pages = sync.OnceValues(func() (map[string]*template.Template, error) {
	common, err := template.New("common").Funcs(report.Funcs()).Funcs(functions).Parse(report.Parts)
	if err == nil {
		common, err = common.ParseFS(sources, "templates/common/*.html")
	}
	if err != nil {
		return nil, fmt.Errorf("read the templates of pages: %w", err)
	}
	entries, err := sources.ReadDir("templates")
	if err != nil {
		return nil, fmt.Errorf("list the templates of pages: %w", err)
	}
	all := map[string]*template.Template{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		own, err := common.Clone()
		if err == nil {
			own, err = own.ParseFS(sources, path.Join("templates", e.Name()))
		}
		if err != nil {
			return nil, fmt.Errorf("read the template %s of pages: %w", e.Name(), err)
		}
		all[strings.TrimSuffix(e.Name(), ".html")] = own
	}
	return all, nil
})

// Render writes a page, or only one part of it, which is what a page that is open fetches again. It reports whether
// there is such a part.
func Render(w io.Writer, name, part string, v View) (bool, error) {
	all, err := pages()
	if err != nil {
		return false, err
	}
	t := all[name]
	if t == nil {
		return false, fmt.Errorf("there is no template of a page %q", name)
	}
	start := "layout"
	if part != "" {
		if start = "part:" + part; t.Lookup(start) == nil {
			return false, nil
		}
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, start, v); err != nil {
		return false, fmt.Errorf("make the page %s: %w", name, err)
	}
	_, err = w.Write(shown(b.Bytes()))
	return true, err
}
