package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/daemon/web/page"
)

// htmlFormat writes the pages of a run.
const htmlFormat = "html"

// exportHTML writes the pages of a run as files.
func (e *env) exportHTML(ctx context.Context, o web.ExportOptions, dir string) error {
	for _, with := range o.With {
		if !slices.Contains(page.Contents(), with) {
			return usage{fmt.Errorf("--with %q: there are %s", with, strings.Join(page.Contents(), ", "))}
		}
	}
	if o.Public && len(o.With) > 0 {
		return usage{errors.New("--public leaves out all that --with asks for: give one of them")}
	}
	settings, state, err := e.place()
	if err != nil {
		return err
	}
	if _, err := vacant(dir, ""); err != nil {
		return err
	}
	pages, _, done, err := daemon.ReadPages(ctx, settings, state, e.version)
	if err != nil {
		return err
	}
	written, err := pages.Export(ctx, o, dir)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if e.json {
		return e.printJSON(written)
	}
	fmt.Fprintln(e.out, filepath.Join(dir, "index.html"))
	text := fmt.Sprintf("%s, %s", counted(written.Pages, "page"), counted(written.Trials, "trial"))
	if written.Left > 0 {
		text += fmt.Sprintf("; %s that are resolved have no page", counted(written.Left, "trial"))
	}
	if written.Cut > 0 {
		text += fmt.Sprintf("; %s lead nowhere, because there are too many pages", counted(written.Cut, "link"))
	}
	_, err = fmt.Fprintln(e.err, text)
	return err
}
