package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// Source says where a dataset lies: either URL or Dataset is set.
type Source struct {
	// URL of a Git repository, or over HTTP of an archive or of one file. After it may stand
	// #dir=FOLDER for a folder of it and, but for repositories, #sha256=SUM; with & between.
	URL      string
	Ref      string // of a repository: branch, tag or full hash; "" = its HEAD
	Dataset  string // of the hub: OWNER/NAME, and after it perhaps /FOLDER
	Revision string // of that: branch, tag or full hash; "" = main
}

// place is a source that has been understood.
type place struct {
	kind     kind
	at       string // URL without a fragment, or the dataset's id
	revision string // as it was asked for
	dir      string // slash-separated; "" = all of it
	sum      string // SHA-256 of the file, in hex; "" = not known
}

type kind int

const (
	repository kind = iota
	download
	hubDataset
)

var (
	sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hubName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
	refName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+@-]{0,254}$`)
	scpLike   = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)
)

// Check tells what is wrong with a source without a look at it.
func (s Source) Check() error {
	_, err := s.place()
	return err
}

// Fixed reports whether the source can never be another one than it is now.
func (s Source) Fixed() bool {
	p, err := s.place()
	return err == nil && (p.sum != "" || p.kind != download && git.IsFullHash(p.revision))
}

// String names the source for people, without a password.
func (s Source) String() string {
	if s.Dataset != "" {
		return "hf:" + at(s.Dataset, s.Revision)
	}
	return at(redacted(s.URL), s.Ref)
}

func at(name, revision string) string {
	if revision == "" {
		return name
	}
	return name + "@" + revision
}

// redacted is a URL without a password.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Redacted()
}

func (s Source) place() (p place, err error) {
	switch {
	case (s.URL == "") == (s.Dataset == ""):
		return p, errors.New("either a URL or a dataset of the hub is needed")
	case s.Dataset != "":
		p, err = s.onHub()
	default:
		p, err = s.byURL()
	}
	switch {
	case err != nil:
	case p.revision != "" && !refName.MatchString(p.revision) || strings.Contains(p.revision, ".."):
		err = fmt.Errorf("%q is no name of a revision", p.revision)
	case p.dir != "" && (!filepath.IsLocal(filepath.FromSlash(p.dir)) || strings.ContainsRune(p.dir, 0)):
		err = fmt.Errorf("the folder %q is not below the source", p.dir)
	}
	return p, err
}

func (s Source) onHub() (place, error) {
	parts := strings.Split(strings.Trim(s.Dataset, "/"), "/")
	n := min(len(parts), 2)
	for _, part := range parts[:n] {
		if !hubName.MatchString(part) || strings.Contains(part, "..") {
			return place{}, fmt.Errorf("%q is no dataset of the hub: write OWNER/NAME", s.Dataset)
		}
	}
	return place{kind: hubDataset, at: strings.Join(parts[:n], "/"), revision: s.Revision, dir: path.Join(parts[n:]...)}, nil
}

func (s Source) byURL() (p place, err error) {
	raw, fragment, _ := strings.Cut(s.URL, "#")
	p = place{kind: repository, at: raw, revision: s.Ref}
	options, err := url.ParseQuery(fragment)
	if err != nil {
		return p, fmt.Errorf("read what follows # in %s: %w", redacted(s.URL), err)
	}
	for name, values := range options {
		switch name {
		case "dir":
			p.dir = path.Clean(values[0])
		case "sha256":
			p.sum = strings.ToLower(values[0])
		default:
			return p, fmt.Errorf("%q after # in a URL means nothing: write dir=FOLDER or sha256=SUM", name)
		}
	}
	if scpLike.MatchString(raw) {
		return p, p.repositorySum()
	}
	u, err := url.Parse(raw)
	if err != nil {
		return p, errors.New("that is no URL") // the error would show a password
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	switch {
	case web && u.Host == "" || !web && u.Scheme != "file" && u.Scheme != "ssh":
		return p, fmt.Errorf("%q is no URL of a repository or an archive: write https://, http://, ssh://, file:// or USER@HOST:PATH", u.Redacted())
	case web && s.Ref == "" && isFile(u.Path):
		p.kind = download
		if p.sum != "" && !sha256Hex.MatchString(p.sum) {
			return p, errors.New("sha256 after # in a URL is no SHA-256: write 64 hexadecimal digits")
		}
		return p, nil
	}
	return p, p.repositorySum()
}

// repositorySum refuses a checksum of what has none.
func (p place) repositorySum() error {
	if p.sum == "" {
		return nil
	}
	return errors.New("a repository has no SHA-256: name the commit in full as its ref")
}

// isFile reports whether what lies at a path of a web server is an archive or one file of
// tasks; all else is a repository.
func isFile(name string) bool {
	for _, ending := range []string{".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip", ".jsonl", ".json", ".parquet"} {
		if strings.HasSuffix(strings.ToLower(name), ending) {
			return true
		}
	}
	return false
}

// key names the copy of a place that is asked for at a hub.
func (p place) key(hub string) string {
	if p.kind != hubDataset {
		hub = ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %q", p.kind, hub, p.at, p.revision, p.dir, p.sum))
	return hex.EncodeToString(sum[:12])
}
