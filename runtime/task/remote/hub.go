package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/runtime/git"
)

// Bounds of what a hub says.
const (
	maxAnswer   = 64 << 20
	maxPages    = 10_000
	maxHubFiles = 500_000
	maxHubFile  = 8 << 30 // of one file, in bytes
	atOnce      = 4       // files
)

// entry is one line of the tree of a dataset.
type entry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"` // name that Git gives to the content
	LFS  *struct {
		OID  string `json:"oid"` // SHA-256
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// weights are endings of what models are made of: no task needs it.
var weights = []string{".safetensors", ".gguf", ".ggml", ".pt", ".pth", ".ckpt", ".onnx", ".tflite", ".h5", ".msgpack"}

// snapshot fetches the files of a dataset at the commit that its revision means now.
func (j *job) snapshot(ctx context.Context) (r record, err error) {
	if r.Revision, err = j.hubCommit(ctx); err != nil {
		return r, err
	}
	if r.Revision == j.have.Revision {
		return r, errUnchanged
	}
	if _, err := j.state(r.Revision); err != nil {
		return r, err
	}
	entries, err := j.tree(ctx, r.Revision)
	if err != nil {
		return r, err
	}
	var wanted []entry
	total := int64(0)
	for _, e := range entries {
		switch why := unwanted(e); {
		case e.Type != "file":
		case why != "":
			r.LeftOut = append(r.LeftOut, e.Path+" "+why)
		default:
			wanted = append(wanted, e)
			total += e.Size
		}
	}
	if total > j.o.Most {
		return r, fmt.Errorf("its files have %d bytes, and a copy may have %d", total, j.o.Most)
	}
	return r, j.files(ctx, r.Revision, wanted, total)
}

// unwanted says why a file is left out; "" if it is not.
func unwanted(e entry) string {
	switch {
	case slices.Contains(weights, strings.ToLower(path.Ext(e.Path))):
		return "is part of a model"
	case e.Size > maxHubFile:
		return fmt.Sprintf("is larger than %d GiB", maxHubFile>>30)
	}
	return ""
}

func (j *job) hubCommit(ctx context.Context) (string, error) {
	revision := j.revision
	if revision == "" {
		revision = "main"
	}
	var answer struct {
		SHA string `json:"sha"`
	}
	if _, err := j.json(ctx, j.o.Hub+"/api/datasets/"+escaped(j.at)+"/revision/"+url.PathEscape(revision), &answer); err != nil {
		return "", err
	}
	if !git.IsFullHash(answer.SHA) {
		return "", errors.New("the hub does not say which commit that is")
	}
	return answer.SHA, nil
}

var nextPage = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?next"?`)

// tree lists all files of a commit, or those below the folder that is asked for.
func (j *job) tree(ctx context.Context, commit string) (all []entry, err error) {
	page := j.o.Hub + "/api/datasets/" + escaped(j.at) + "/tree/" + commit
	if j.place.dir != "" {
		page += "/" + escaped(j.place.dir)
	}
	page += "?recursive=true"
	for n := 0; page != ""; n++ {
		var part []entry
		header, err := j.json(ctx, page, &part)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); len(all) > maxHubFiles || n > maxPages {
			return nil, fmt.Errorf("it has more than %d files", maxHubFiles)
		}
		if page, err = following(page, header.Get("Link")); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// following is the page after one, "" if that was the last. The token goes with each of them, so
// that all are on one host.
func following(page, link string) (string, error) {
	found := nextPage.FindStringSubmatch(link)
	if found == nil {
		return "", nil
	}
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	next, err := base.Parse(found[1])
	if err != nil || next.Host != base.Host || next.Scheme != base.Scheme {
		return "", errors.New("the hub sends for the rest of the list to another host")
	}
	return next.String(), nil
}

// json asks the hub, again where that may help.
func (j *job) json(ctx context.Context, at string, into any) (http.Header, error) {
	var header http.Header
	for failures := 0; ; {
		answer, err := j.ask(ctx, at, j.o.Token, http.Header{})
		if err == nil {
			header = answer.Header
			err = decode(answer, into)
		}
		if err == nil {
			return header, nil
		}
		retry, ok := errors.AsType[*again](err)
		if failures++; !ok || ctx.Err() != nil || failures > maxFailures {
			return nil, err
		}
		if err := j.pause(ctx, max(retry.after, backOff(failures))); err != nil {
			return nil, err
		}
	}
}

func decode(answer *http.Response, into any) error {
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return &again{error: fmt.Errorf("the connection broke: %w", bare(err))}
	case len(text) > maxAnswer:
		return errors.New("the hub says more than is taken")
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("the hub answers with something else than a list of files")
	}
	return nil
}

// files fetches several at once. One that was fetched before, by a call that ended early or for
// another revision, is not fetched again.
func (j *job) files(ctx context.Context, commit string, wanted []entry, total int64) error {
	parts := filepath.Join(j.partial, "parts")
	if err := errors.Join(os.MkdirAll(parts, 0o700), os.MkdirAll(j.data(), 0o755)); err != nil {
		return err
	}
	root, err := os.OpenRoot(j.data())
	if err != nil {
		return err
	}
	defer root.Close()
	var telling sync.Mutex
	done := int64(0)
	got := func(n int64) {
		telling.Lock()
		defer telling.Unlock()
		done += n
		j.tell(Progress{Done: done, Total: total})
	}
	room := j.room()
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, e := range wanted {
		f := &file{
			url:  j.o.Hub + "/datasets/" + escaped(j.at) + "/resolve/" + commit + "/" + escaped(e.Path),
			part: filepath.Join(parts, fmt.Sprint(i)), token: j.o.Token, size: e.Size, sum: e.OID, blob: true, fixed: true,
		}
		if e.LFS != nil {
			f.sum, f.blob, f.size = e.LFS.OID, false, e.LFS.Size
		}
		work.Go(func() error {
			if err := j.deliver(ctx, root, e.Path, f, room, got); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
			return nil
		})
	}
	return work.Wait()
}

// deliver puts one file where it belongs.
func (j *job) deliver(ctx context.Context, root *os.Root, name string, f *file, room *room, got func(int64)) error {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return errors.New("is no name below the dataset")
	}
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == f.size {
		got(f.size)
		return nil // it was checked before it was put there
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	target := filepath.Join(j.data(), name)
	if j.old != "" {
		before := filepath.Join(j.old, name)
		if info, err := os.Lstat(before); err == nil && info.Mode().IsRegular() && info.Size() == f.size {
			if sum, err := f.sumOf(before); err == nil && sum == f.sum && os.Link(before, target) == nil {
				got(f.size)
				return nil
			}
		}
	}
	done := sizeOfFile(f.part)
	if err := room.take(done); err != nil {
		return err
	}
	got(done)
	if f.size == 0 {
		if err := os.WriteFile(f.part, nil, 0o644); err != nil {
			return err
		}
	} else if err := j.fill(ctx, f, room, got); err != nil {
		return err
	}
	return os.Rename(f.part, target)
}

// escaped is a slash-separated name in the path of a URL.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
