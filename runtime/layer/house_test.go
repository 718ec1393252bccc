package layer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o077) // as a careful unit may have it: containers read the layers all the same
	if dir := os.Getenv(victim); dir != "" {
		suffer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// entry is one entry of an archive.
type entry struct {
	name string
	text string // of a file, or what a link leads to
	mode int64  // 0 = 0644
	kind byte   // 0 = a file
}

func archive(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Mode: e.mode, Typeflag: e.kind}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		switch e.kind {
		case 0, tar.TypeReg:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.text))
		default:
			h.Linkname = e.text
		}
		if err := w.WriteHeader(&h); err != nil {
			tb.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(e.text)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func zipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// packed is a package's archive with these files in its top folder.
func packed(tb testing.TB, files ...entry) []byte {
	tb.Helper()
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	return zipped(tb, archive(tb, files...))
}

func integrity(data []byte) string { return sum512(sha512.Sum512(data)).String() }

// misfortune is what happens to a request in place of the answer.
type misfortune struct {
	code  int    // 0 = the connection breaks
	after string // Retry-After
	bytes int    // that come before the connection breaks
}

// shop is an npm registry of a test's own.
type shop struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	archives map[string][]byte // by path, as /@scope/name/-/name-1.0.0.tgz
	about    map[string]description
	asked    []string // archives: "name-1.0.0.tgz", or with " bytes=N-"
	looked   int      // at descriptions
	faults   []misfortune
	mumbles  []misfortune
	logins   []string      // who showed a password, by path
	gate     chan struct{} // closed to let what is half sent go on; nil = nothing waits
	half     chan struct{} // something is half sent
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, archives: map[string][]byte{}, about: map[string]description{}, half: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// sell has the shop have a package, and returns it with its integrity.
func (s *shop) sell(name, version string, data []byte) Package {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := name[strings.LastIndex(name, "/")+1:]
	at := fmt.Sprintf("/%s/-/%s-%s.tgz", name, base, version)
	s.archives[at] = data
	d := description{Name: name, Version: version}
	d.Dist.Tarball, d.Dist.Integrity = s.URL+at, integrity(data)
	s.about["/"+url.PathEscape(name)+"/"+version] = d
	return Package{Name: name, Version: version, Integrity: d.Dist.Integrity}
}

// amend changes what the shop says of a package.
func (s *shop) amend(p Package, change func(*description)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "/" + url.PathEscape(p.Name) + "/" + p.Version
	d := s.about[key]
	change(&d)
	s.about[key] = d
}

// fail has the next requests for archives fail, one by one.
func (s *shop) fail(faults ...misfortune) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// mumble has the next requests for descriptions fail, one by one.
func (s *shop) mumble(faults ...misfortune) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mumbles = append(s.mumbles, faults...)
}

// hold has archives stop half way until release is called.
func (s *shop) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.gate = nil
		s.mu.Unlock()
		close(gate)
	})
}

// sold returns which archives were asked for, and forgets them.
func (s *shop) sold() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *shop) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	d, isAbout := s.about[q.URL.EscapedPath()]
	data, isArchive := s.archives[q.URL.Path]
	var fault *misfortune
	switch {
	case isAbout && len(s.mumbles) > 0:
		fault, s.mumbles = &s.mumbles[0], s.mumbles[1:]
	case isArchive && len(s.faults) > 0:
		fault, s.faults = &s.faults[0], s.faults[1:]
	}
	if isAbout {
		s.looked++
	}
	if isArchive {
		s.asked = append(s.asked, strings.TrimSpace(filepath.Base(q.URL.Path)+" "+q.Header.Get("Range")))
	}
	if name, password, ok := q.BasicAuth(); ok {
		s.logins = append(s.logins, name+":"+password)
	}
	gate := s.gate
	s.mu.Unlock()
	switch {
	case fault != nil && fault.code != 0:
		w.Header().Set("Retry-After", fault.after)
		w.WriteHeader(fault.code)
	case fault != nil:
		var from int // as a server that resumes
		_, _ = fmt.Sscanf(q.Header.Get("Range"), "bytes=%d-", &from)
		rest := append([]byte{' '}, data...)[1+from:] // a description has nothing
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)+1))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(rest[:min(fault.bytes, len(rest))])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case isAbout:
		_ = json.NewEncoder(w).Encode(d)
	case isArchive && gate != nil:
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		s.half <- struct{}{}
		select {
		case <-gate:
			_, _ = w.Write(data[len(data)/2:])
		case <-q.Context().Done():
		}
	case isArchive:
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(data))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// open is a store that buys at the shop, and does not wait long between two tries.
func (s *shop) open(dir string) *Store {
	s.t.Helper()
	return open(s.t, dir, Options{Registry: s.URL})
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	s.registry.first = time.Millisecond
	t.Cleanup(s.Close)
	return s
}

// made is the layer of packages.
func made(t *testing.T, s *Store, packages ...Package) Layer {
	t.Helper()
	l, err := s.Packages(t.Context(), packages)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// files lists what is below a folder: "755 name=text", "755 name/", "name -> target".
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			all = append(all, rel+" -> "+to)
			return err
		case e.IsDir():
			all = append(all, fmt.Sprintf("%o %s/", mode(info), rel))
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is %s", rel, e.Type())
		}
		text, err := os.ReadFile(name)
		all = append(all, fmt.Sprintf("%o %s=%s", mode(info), rel, text))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// mode is what chmod would be given.
func mode(info fs.FileInfo) uint32 {
	return uint32(info.Sys().(*syscall.Stat_t).Mode) & 0o7777 //nolint:unconvert // it has 16 bits on macOS
}

// empty fails when there is something in a folder of the store.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s holds %v, %v", filepath.Base(dir), entries, err)
	}
}

// sooner is a context that is called off when something happens.
func sooner(t *testing.T, when <-chan struct{}, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-when:
		case <-t.Context().Done():
		}
		cancel(cause)
	}()
	t.Cleanup(func() { <-done })
	return ctx
}

var errCalledOff = errors.New("called off")
