package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon/web/page"
)

// ExportOptions say what an export has.
type ExportOptions struct {
	Run       string   // address
	Execution int      // 0 = the last one
	With      []string // of page.Contents; none of them is in it by itself
	Public    bool     // it has nothing that could tell of hidden tests
}

// Exported is what an export has come to.
type Exported struct {
	Pages  int `json:"pages"`
	Trials int `json:"trials"` // that have a page
	Left   int `json:"left"`   // trials without one
	Cut    int `json:"cut"`    // links that lead nowhere, because there are too many pages already
}

// manyTrials is from how many trials on only those have a page that are not resolved, or have a flag.
const manyTrials = 1000

// maxFiles bounds the pages of an export: a log alone can have ten thousand. They are written in their order from the
// page of the run on, so that what is left out is the furthest from it.
const maxFiles = 50_000

// Export writes the pages of a run's execution below dir, which is new or empty: files with relative links that open from
// a disk, without a script.
func (s *Server) Export(ctx context.Context, o ExportOptions, dir string) (Exported, error) {
	run, err := s.o.Reader.RunOf(ctx, o.Run)
	if err != nil {
		return Exported{}, err
	}
	if o.Execution == 0 {
		o.Execution = run.Execution
	}
	_, cells, err := s.o.Reader.Cells(ctx, o.Run, o.Execution)
	if err != nil {
		return Exported{}, err
	}
	if len(cells) == 0 {
		return Exported{}, fmt.Errorf("%s e%d has no trials to export", o.Run, o.Execution)
	}
	x := &exporter{pages: s.still(page.Still{With: o.With, Public: o.Public}), with: o.With, dir: dir, trials: map[string]bool{}, files: map[string]string{}}
	for _, c := range cells {
		if len(cells) <= manyTrials || c.State != "resolved" || c.Flagged {
			x.trials[c.Trial] = true
		}
	}
	x.run = page.RunPath(o.Run, o.Execution)
	x.file(x.run)
	for len(x.left) > 0 {
		next := x.left[0]
		x.left = x.left[1:]
		if err := errors.Join(ctx.Err(), x.write(ctx, next)); err != nil {
			return x.done, err
		}
	}
	x.done.Trials, x.done.Left = len(x.trials), len(cells)-len(x.trials)
	style, err := page.Style()
	if err == nil {
		err = x.put("app.css", style)
	}
	return x.done, err
}

// still serves pages as they are in files.
func (s *Server) still(content page.Still) http.Handler {
	mux := http.NewServeMux()
	for pattern, show := range s.pages() {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, q *http.Request) {
			f := s.frame("")
			f.Still = &content
			name, v, err := show(q, f)
			if err == nil {
				_, err = page.Render(w, name, "", v)
			}
			if err != nil {
				w.(*written).err = err
			}
		})
	}
	return mux
}

// written is an answer in memory.
type written struct {
	bytes.Buffer
	header http.Header
	err    error
}

// Header implements http.ResponseWriter.
func (w *written) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *written) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.err = fmt.Errorf("the page is answered with %d", status)
	}
}

// exporter writes pages and what they lead to.
type exporter struct {
	pages  http.Handler
	with   []string
	dir    string
	run    string            // address of the run's page
	trials map[string]bool   // that have a page
	files  map[string]string // by address
	left   []string          // addresses that are still to be written
	done   Exported
}

// links are addresses in our own templates, which write them with these quotes.
var links = regexp.MustCompile(` (href|src)="([^"]*)"`)

// write writes the page at an address.
func (x *exporter) write(ctx context.Context, address string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://export"+address, nil)
	if err != nil {
		return fmt.Errorf("export %s: %w", address, err)
	}
	w := &written{header: http.Header{}}
	x.pages.ServeHTTP(w, q)
	if w.err != nil {
		return fmt.Errorf("export %s: %w", address, w.err)
	}
	own := x.files[address]
	text := links.ReplaceAllFunc(w.Bytes(), func(found []byte) []byte {
		m := links.FindSubmatch(found)
		to, fragment, _ := strings.Cut(html.UnescapeString(string(m[2])), "#")
		if to == "" && fragment != "" {
			return found
		}
		file := x.file(to)
		if file == "" {
			return nil // it is plain text then
		}
		relative, err := filepath.Rel(filepath.Dir(own), file)
		if err != nil {
			return nil
		}
		u := url.URL{Path: filepath.ToSlash(relative), Fragment: fragment}
		return fmt.Appendf(nil, ` %s="%s"`, m[1], html.EscapeString(u.String()))
	})
	x.done.Pages++
	return x.put(own, text)
}

// file is the file of the page at an address, "" if the export has none. One that is new is written later.
func (x *exporter) file(address string) string {
	if strings.HasPrefix(address, page.StaticPath) && path.Base(address) == "app.css" {
		return "app.css"
	}
	if file, known := x.files[address]; known {
		return file
	}
	u, err := url.Parse(address)
	if err != nil || !x.has(u) {
		return ""
	}
	if len(x.files) >= maxFiles {
		x.done.Cut++
		return ""
	}
	file := "index.html"
	if len(x.files) > 0 {
		file = fmt.Sprintf("%s-%d.html", strings.ReplaceAll(strings.Trim(u.EscapedPath(), "/"), "%2F", "_"), len(x.files))
	}
	x.files[address] = file
	x.left = append(x.left, address)
	return file
}

// has reports whether an export has the page at an address: the run, its trials, and their rounds, and the parts that are
// asked for. Lists are followed to their end.
func (x *exporter) has(u *url.URL) bool {
	q := u.Query()
	q.Del("after")
	q.Del("offset")
	q.Del("from")
	if len(q) > 0 {
		return false
	}
	if u.Path == x.run {
		return true
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 || parts[0] != "trials" || !x.trials[parts[1]] {
		return false
	}
	switch {
	case len(parts) == 2, len(parts) == 4 && parts[2] == "rounds":
		return true
	case len(parts) == 3 && parts[2] == "log":
		return slices.Contains(x.with, "logs")
	case len(parts) == 3 && parts[2] == "steps":
		return slices.Contains(x.with, "steps")
	case len(parts) == 5 && parts[2] == "between":
		return slices.Contains(x.with, "diffs")
	}
	return false
}

func (x *exporter) put(name string, text []byte) error {
	at := filepath.Join(x.dir, filepath.FromSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("export %s: it would lie outside the folder", name)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return fmt.Errorf("export pages: %w", err)
	}
	if err := os.WriteFile(at, text, 0o644); err != nil {
		return fmt.Errorf("export pages: %w", err)
	}
	return nil
}
