package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/task/remote"
)

// importSource is where assayd import takes tasks from: a path of this machine, or a dataset
// that lies elsewhere.
type importSource struct {
	path   string
	remote remote.Source
}

// hubPrefix is what a dataset of the hub begins with on the command line.
const hubPrefix = "hf:"

// parseSource understands SRC: what is there as a file or folder is that.
func parseSource(text string) (s importSource, err error) {
	dataset, hub := strings.CutPrefix(text, hubPrefix)
	switch {
	case hub:
		s.remote.Dataset, s.remote.Revision, _ = strings.Cut(dataset, "@")
	case exists(text):
		s.path = text
		return s, nil
	case !strings.Contains(text, ":"):
		return s, fmt.Errorf("there is no file or folder %s; else write a URL, URL@REF or hf:OWNER/NAME@REV", text)
	default:
		s.remote.URL, s.remote.Ref = cutRef(text)
	}
	return s, s.remote.Check()
}

// cutRef takes the ref from a URL: an @ after the host, of which one may be before it.
func cutRef(text string) (address, ref string) {
	text, fragment, marked := strings.Cut(text, "#")
	from := strings.Index(text, ":") + 1
	if scheme := strings.Index(text, "://"); scheme >= 0 {
		from = scheme + 3
		if slash := strings.Index(text[from:], "/"); slash >= 0 {
			from += slash
		}
	}
	if at := strings.LastIndex(text[from:], "@"); at >= 0 && !strings.HasSuffix(text, "@") {
		text, ref = text[:from+at], text[from+at+1:]
	}
	if marked {
		text += "#" + fragment
	}
	return text, ref
}

// String names the source for people.
func (s importSource) String() string {
	if s.path != "" {
		return s.path
	}
	return s.remote.String()
}

// name is what a benchmark of the source is called.
func (s importSource) name() string {
	text := s.path
	if abs, err := filepath.Abs(text); err == nil && text != "" {
		text = abs
	}
	if s.path == "" {
		text = s.remote.Dataset
		if s.remote.URL != "" {
			text, _, _ = strings.Cut(s.remote.URL, "#")
		}
	}
	text = strings.ToLower(path.Base(strings.TrimRight(filepath.ToSlash(text), "/")))
	for _, ending := range []string{".git", ".zip", ".gz", ".tgz", ".zst", ".tar", ".jsonl", ".json", ".parquet"} {
		text = strings.TrimSuffix(text, ending)
	}
	return specName(text)
}

// specName is a text as a spec may be called.
func specName(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		text = "tasks-" + text
	}
	return strings.TrimRight(text[:min(len(text), 40)], "-")
}

// begun is the folder below DIR with what is not whole yet; a later call goes on with it.
const begun = ".fetch"

// bring puts the data of the source at target, which is not there yet, and returns of which
// revision it is and what was left out.
func (e *env) bring(ctx context.Context, s importSource, format daemon.Format, dir, target string) (c remote.Copy, err error) {
	if s.path != "" && !remote.IsArchive(s.path) {
		return c, copyData(s.path, target)
	}
	settings, err := e.settings()
	if err != nil {
		return c, err
	}
	store, err := daemon.OpenDatasets(settings, filepath.Join(dir, begun))
	if err != nil {
		return c, err
	}
	defer store.Close()
	take := func(got remote.Copy) error {
		c = got
		from, err := format.Find(got.Dir)
		if err == nil {
			err = os.Rename(from, target)
		}
		return err
	}
	if s.path != "" {
		err = store.Unpack(ctx, s.path, take)
	} else {
		shown := fetchShown{e: e, live: terminal(e.err) && !e.json}
		tell := shown.from(s.remote)
		tell(remote.Progress{})
		_, err = store.Fetch(ctx, s.remote, tell)
		shown.clear()
		if err == nil {
			err = store.Use(s.remote, take)
		}
	}
	if err != nil {
		return c, err
	}
	return c, os.RemoveAll(filepath.Join(dir, begun))
}

// from tells the progress of a source.
func (s *fetchShown) from(src remote.Source) func(remote.Progress) {
	return func(p remote.Progress) {
		s.tell(query.Fetch{Source: src.String(), Done: p.Done, Total: p.Total})
	}
}

// copyData copies a file into a folder, or a folder with the links that stay in it; what is
// neither, and what belongs to Git, stays behind.
func copyData(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	in, err := os.OpenRoot(from)
	if !info.IsDir() {
		in, err = os.OpenRoot(filepath.Dir(from))
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if !info.IsDir() {
		return copyFile(in, out, filepath.Base(from), info.Mode())
	}
	return fs.WalkDir(in.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.Name() == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return out.Mkdir(name, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := in.Readlink(name)
			if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
				return err
			}
			return out.Symlink(target, name)
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return copyFile(in, out, name, info.Mode())
	})
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (err error) {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
