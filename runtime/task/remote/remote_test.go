package remote

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/task/remote/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened is a store in a folder of its own; waits are what it would have waited for.
type opened struct {
	*Store
	t *testing.T

	mu    sync.Mutex
	waits []time.Duration
}

func open(t *testing.T, o Options) *opened {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	all := &opened{Store: s, t: t}
	s.pause = func(ctx context.Context, d time.Duration) error {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.waits = append(all.waits, d)
		return ctx.Err()
	}
	return all
}

func (s *opened) fetch(src Source) Copy {
	s.t.Helper()
	c, err := s.Fetch(s.t.Context(), src, func(Progress) {})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// files reads a folder; links are shown as they are.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil || e.IsDir():
			return err
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			all[rel] = "->" + to
			return err
		}
		text, err := os.ReadFile(name)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t *testing.T, c Copy, all map[string]string) {
	t.Helper()
	if diff := cmp.Diff(all, files(t, c.Dir)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsASource(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 20)
	sum := strings.Repeat("ab", 32)
	for _, tt := range []struct {
		src   Source
		shown string
		fixed bool
		wrong string
	}{
		{src: Source{URL: "https://h/o/r.git"}, shown: "https://h/o/r.git"},
		{src: Source{URL: "https://h/o/r", Ref: hash}, shown: "https://h/o/r@" + hash, fixed: true},
		{src: Source{URL: "https://me:s3cret@h/r#dir=tasks", Ref: "v1"}, shown: "https://me:xxxxx@h/r#dir=tasks@v1"},
		{src: Source{URL: "git@host:o/r.git"}, shown: "git@host:o/r.git"},
		{src: Source{URL: "https://h/x.tar.gz#sha256=" + sum}, shown: "https://h/x.tar.gz#sha256=" + sum, fixed: true},
		{src: Source{URL: "https://h/x.tar.gz"}, shown: "https://h/x.tar.gz"},
		{src: Source{Dataset: "o/n"}, shown: "hf:o/n"},
		{src: Source{Dataset: "o/n/a/b", Revision: hash}, shown: "hf:o/n/a/b@" + hash, fixed: true},
		{src: Source{}, wrong: "either"},
		{src: Source{URL: "https://h/r", Dataset: "o/n"}, wrong: "either"},
		{src: Source{URL: "ext::sh -c true"}, wrong: "is no URL of a repository"},
		{src: Source{URL: "--upload-pack=x"}, wrong: "is no URL of a repository"},
		{src: Source{URL: "/etc"}, wrong: "is no URL of a repository"},
		{src: Source{URL: "https://h/r", Ref: "--upload-pack=x"}, wrong: "is no name of a revision"},
		{src: Source{URL: "https://h/r", Ref: "a..b"}, wrong: "is no name of a revision"},
		{src: Source{URL: "https://h/r#sha256=" + sum}, wrong: "a repository has no SHA-256"},
		{src: Source{URL: "https://h/x.zip#sha256=12"}, wrong: "is no SHA-256"},
		{src: Source{URL: "https://h/x.zip#dir=../x"}, wrong: "is not below"},
		{src: Source{URL: "https://h/x.zip#folder=x"}, wrong: "means nothing"},
		{src: Source{Dataset: "o/../n"}, wrong: "no dataset of the hub"},
		{src: Source{Dataset: "o/n/../../x"}, wrong: "is not below"},
	} {
		err := tt.src.Check()
		if (tt.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%+v: %v, want %q", tt.src, err, tt.wrong)
		}
		if err == nil && (tt.src.String() != tt.shown || tt.src.Fixed() != tt.fixed) {
			t.Errorf("%+v: %s, fixed %v", tt.src, tt.src, tt.src.Fixed())
		}
	}
}

func TestARepositoryIsFetchedAtItsRef(t *testing.T) {
	t.Parallel()
	r := remotetest.NewRepository(t)
	first := r.Commit(map[string]string{"tasks/a": "1", "x": "1"})
	r.Git("tag", "--annotate", "--message=m", "v1")
	r.Git("branch", "old")
	second := r.Commit(map[string]string{"tasks/a": "2"})
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	third := r.Commit(nil)
	s := open(t, Options{})
	for _, tt := range []struct {
		src    Source
		commit string
		files  map[string]string
	}{
		{Source{URL: r.URL()}, third, map[string]string{"tasks/a": "2", "x": "1", "out": "->/etc/passwd"}},
		{Source{URL: r.URL(), Ref: "main"}, third, map[string]string{"tasks/a": "2", "x": "1", "out": "->/etc/passwd"}},
		{Source{URL: r.URL(), Ref: "old"}, first, map[string]string{"tasks/a": "1", "x": "1"}},
		{Source{URL: r.URL(), Ref: "v1"}, first, map[string]string{"tasks/a": "1", "x": "1"}},
		{Source{URL: r.URL() + "#dir=tasks", Ref: second}, second, map[string]string{"a": "2"}},
	} {
		c := s.fetch(tt.src)
		if c.Revision != tt.commit {
			t.Errorf("%s: commit %s, want %s", tt.src, c.Revision, tt.commit)
		}
		want(t, c, tt.files)
	}
	for ref, wrong := range map[string]string{"none": "no branch or tag", first[:12]: "the whole hash is needed", strings.Repeat("ab", 20): "no commit"} {
		if _, err := s.Fetch(t.Context(), Source{URL: r.URL(), Ref: ref}, func(Progress) {}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := s.Fetch(t.Context(), Source{URL: r.URL() + "#dir=none", Ref: "v1"}, func(Progress) {}); err == nil || !strings.Contains(err.Error(), `no folder "none"`) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// A branch that moves is fetched when it is asked for, and what is used stays until then.
func TestACopyIsReplacedByALaterOne(t *testing.T) {
	t.Parallel()
	r := remotetest.NewRepository(t)
	first := r.Commit(map[string]string{"a": "1"})
	s, src := open(t, Options{}), Source{URL: r.URL(), Ref: "main"}
	if err := s.Use(src, func(Copy) error { return nil }); !errors.Is(err, ErrAbsent) {
		t.Fatalf("before it is fetched: %v", err)
	}
	s.fetch(src)
	second := r.Commit(map[string]string{"a": "2"})
	use := func(commit, text string) {
		t.Helper()
		err := s.Use(src, func(c Copy) error {
			if c.Revision != commit {
				t.Errorf("used at %s, want %s", c.Revision, commit)
			}
			want(t, c, map[string]string{"a": text})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	use(first, "1")
	s.fetch(src)
	use(second, "2")
	s.fetch(src)
	use(second, "2")
	if err := os.Rename(r.Dir, r.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(t.Context(), src, func(Progress) {}); err == nil {
		t.Error("a repository that is gone was fetched")
	}
	use(second, "2")
	if err := s.Tidy(time.Hour); err != nil {
		t.Error(err)
	}
	use(second, "2")
	if err := s.Tidy(0); err != nil {
		t.Error(err)
	}
	if err := s.Use(src, func(Copy) error { return nil }); !errors.Is(err, ErrAbsent) {
		t.Errorf("after tidying: %v", err)
	}
}

func TestADatasetOfTheHub(t *testing.T) {
	t.Parallel()
	hub := remotetest.NewHub(t)
	hub.Token = "hf_s3cret"
	large := strings.Repeat("x", 5*remotetest.Large)
	data := map[string]string{"README.md": "hello", "data/a b.jsonl": large, "data/c.jsonl": "{}", "empty": "", "w/model.safetensors": "no"}
	first := hub.Put("o/n", data)
	s := open(t, Options{Hub: hub.URL + "/", Token: hub.Token})
	src := Source{Dataset: "o/n"}
	c := s.fetch(src)
	left := map[string]string{"README.md": "hello", "data/a b.jsonl": large, "data/c.jsonl": "{}", "empty": ""}
	want(t, c, left)
	if c.Revision != first || !slices.Equal(c.LeftOut, []string{"w/model.safetensors is part of a model"}) || len(hub.Leaked()) > 0 {
		t.Errorf("%+v, leaked %v", c, hub.Leaked())
	}
	hub.Asked()
	left["data/c.jsonl"] = "[]"
	second := hub.Put("o/n", left)
	if c = s.fetch(src); c.Revision != second {
		t.Errorf("at %s, want %s", c.Revision, second)
	}
	want(t, c, left)
	if asked := hub.Asked(); !slices.Equal(asked, []string{"data/c.jsonl"}) {
		t.Errorf("of the second commit %v was fetched", asked)
	}
	s.fetch(src)
	if asked := hub.Asked(); len(asked) > 0 {
		t.Errorf("of the same commit %v was fetched", asked)
	}
	c = s.fetch(Source{Dataset: "o/n/data", Revision: first})
	want(t, c, map[string]string{"a b.jsonl": large, "c.jsonl": "{}"})
	_, err := open(t, Options{Hub: hub.URL, Token: "wr0ng"}).Fetch(t.Context(), src, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("with a wrong token: %v", err)
	}
	if _, err := s.Fetch(t.Context(), Source{Dataset: "o/none"}, func(Progress) {}); err == nil || !strings.Contains(err.Error(), "there is no such thing") {
		t.Errorf("no dataset: %v", err)
	}
}

func TestADownloadGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	hub := remotetest.NewHub(t)
	large := strings.Repeat("0123456789", 300)
	hub.Put("o/n", map[string]string{"large": large})
	hub.Fail(remotetest.Fault{Bytes: 1200}, remotetest.Fault{Code: 429, After: "7"}, remotetest.Fault{Code: 503}, remotetest.Fault{Bytes: 100})
	s := open(t, Options{Hub: hub.URL})
	c := s.fetch(Source{Dataset: "o/n"})
	want(t, c, map[string]string{"large": large})
	if asked := hub.Asked(); !slices.Equal(asked, []string{"large", "large bytes=1200-", "large bytes=1200-", "large bytes=1200-", "large bytes=1300-"}) {
		t.Errorf("asked for %q", asked)
	}
	if !slices.Equal(s.waits, []time.Duration{time.Second, 7 * time.Second, 4 * time.Second, time.Second}) {
		t.Errorf("waited %v", s.waits)
	}
}

// What a call that ended early has fetched is there for the next one, in another process, too.
func TestAFetchGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	hub := remotetest.NewHub(t)
	large := strings.Repeat("0123456789", 300)
	hub.Put("o/n", map[string]string{"a": "small", "large": large})
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	first := open(t, Options{Dir: dir, Hub: hub.URL})
	broken := make([]remotetest.Fault, 3)
	for i := range broken {
		broken[i].Bytes = 1500
	}
	hub.Fail(broken...)
	first.pause = func(context.Context, time.Duration) error {
		if git.SizeOf(dir) > 1500 {
			stop()
		}
		return ctx.Err()
	}
	src := Source{Dataset: "o/n"}
	if _, err := first.Fetch(ctx, src, func(Progress) {}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first: %v", err)
	}
	if err := first.Use(src, func(Copy) error { return nil }); !errors.Is(err, ErrAbsent) {
		t.Errorf("half a copy is used: %v", err)
	}
	hub.Forgive()
	var last Progress
	c, err := open(t, Options{Dir: dir, Hub: hub.URL}).Fetch(t.Context(), src, func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	want(t, c, map[string]string{"a": "small", "large": large})
	if last.Done != int64(len(large)+5) || last.Total != last.Done {
		t.Errorf("the progress ends with %+v", last)
	}
	for _, asked := range hub.Asked() {
		if asked == "large" {
			t.Error("the large file was fetched from its beginning")
		}
	}
}

func TestAWrongContentIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]string{"another": strings.Repeat("y", 2000), "longer": strings.Repeat("x", 2001)} {
		hub := remotetest.NewHub(t)
		hub.Put("o/n", map[string]string{"large": strings.Repeat("x", 2000)})
		hub.Lie("large", lie)
		s := open(t, Options{Hub: hub.URL})
		_, err := s.Fetch(t.Context(), Source{Dataset: "o/n"}, func(Progress) {})
		if err == nil || !strings.Contains(err.Error(), "checksum") && !strings.Contains(err.Error(), "larger than the 2000 bytes") || strings.Contains(err.Error(), "s1gned") {
			t.Errorf("%s: %v", name, err)
		}
		hub.Lie("large", "")
		want(t, s.fetch(Source{Dataset: "o/n"}), map[string]string{"large": strings.Repeat("x", 2000)})
	}
}

func TestACopyIsBounded(t *testing.T) {
	t.Parallel()
	hub := remotetest.NewHub(t)
	hub.Put("o/n", map[string]string{"large": strings.Repeat("x", 2000)})
	if _, err := open(t, Options{Hub: hub.URL, Most: 1999}).Fetch(t.Context(), Source{Dataset: "o/n"}, func(Progress) {}); err == nil || !strings.Contains(err.Error(), "2000 bytes") {
		t.Errorf("a large one: %v", err)
	}
	if _, err := open(t, Options{Hub: hub.URL, Full: func() bool { return true }}).Fetch(t.Context(), Source{Dataset: "o/n"}, func(Progress) {}); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}

func TestARepositoryUnfoldsWithinABound(t *testing.T) {
	t.Parallel()
	repo := remotetest.NewRepository(t)
	gittest.Bomb(t, repo.Dir)
	dir := t.TempDir()
	_, err := open(t, Options{Dir: dir}).Fetch(t.Context(), Source{URL: repo.URL()}, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "it unfolds to more than") {
		t.Errorf("it was fetched: %v", err)
	}
	if n := len(files(t, dir)); n > 50 {
		t.Errorf("%d files are there", n)
	}
}

// web serves one file with an ETag, and breaks as it is told.
func web(t *testing.T, name string, content *[]byte, tag *string, faults *[]remotetest.Fault) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var fault *remotetest.Fault
		if faults != nil && len(*faults) > 0 {
			fault = &(*faults)[0]
			*faults = (*faults)[1:]
		}
		remotetest.Send(w, q, string(*content), *tag, fault)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/" + name
}

func TestAnArchiveOfTheWeb(t *testing.T) {
	t.Parallel()
	content := remotetest.Gzip(t, remotetest.Tar(t, map[string]string{"r-1/tasks/a": "1", "r-1/b": "2"}))
	tag, faults := `"1"`, []remotetest.Fault{{Bytes: 50}, {Bytes: 10}}
	url := web(t, "x.tar.gz", &content, &tag, &faults)
	sum := sha256.Sum256(content)
	s := open(t, Options{})
	c := s.fetch(Source{URL: url + "#dir=r-1&sha256=" + hex.EncodeToString(sum[:])})
	want(t, c, map[string]string{"tasks/a": "1", "b": "2"})
	if c.Revision != "sha256:"+hex.EncodeToString(sum[:]) || len(s.waits) != 2 {
		t.Errorf("%+v, waited %v", c, s.waits)
	}
	moving := Source{URL: url}
	s.fetch(moving)
	s.fetch(moving) // 304
	content, tag = remotetest.Tar(t, map[string]string{"a": "changed"}), `"2"`
	want(t, s.fetch(moving), map[string]string{"a": "changed"})
	if _, err := s.Fetch(t.Context(), Source{URL: url + "#sha256=" + strings.Repeat("0", 64)}, func(Progress) {}); err == nil || !strings.Contains(err.Error(), "its checksum is") {
		t.Errorf("with a wrong sum: %v", err)
	}
}

// What was begun of a file that has changed since is not put before the rest of another.
func TestAFileThatChangesMeanwhileIsFetchedAnew(t *testing.T) {
	t.Parallel()
	content, tag, faults := []byte(strings.Repeat("old", 100)), `"1"`, []remotetest.Fault{{Bytes: 100}}
	url := web(t, "rows.jsonl", &content, &tag, &faults)
	s := open(t, Options{})
	s.pause = func(context.Context, time.Duration) error {
		content, tag = []byte(strings.Repeat("new", 100)), `"2"`
		return nil
	}
	want(t, s.fetch(Source{URL: url}), map[string]string{"rows.jsonl": strings.Repeat("new", 100)})
}

func TestATokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen = append(seen, q.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(other.Close)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/api") && !strings.Contains(q.URL.Path, "/tree/") {
			_, _ = w.Write([]byte(`{"sha": "` + strings.Repeat("ab", 20) + `"}`))
			return
		}
		w.Header().Set("Link", "<"+other.URL+`/next>; rel="next"`)
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(hub.Close)
	_, err := open(t, Options{Hub: hub.URL, Token: "t"}).Fetch(t.Context(), Source{Dataset: "o/n"}, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "another host") || len(seen) > 0 {
		t.Errorf("%v, the other host saw %q", err, seen)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "-5": 0, "12": 12 * time.Second, "999999": longestWait, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// unpacked has a store unpack bytes.
func unpacked(t *testing.T, s *opened, data []byte) (got map[string]string, left []string, err error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.Unpack(t.Context(), name, func(c Copy) error {
		got, left = files(t, c.Dir), c.LeftOut
		return nil
	})
	return got, left, err
}

func TestArchivesAreUnpackedAndKept(t *testing.T) {
	t.Parallel()
	all := map[string]string{"a/b": "1", "c": "2", "l": "->a/b"}
	packed := remotetest.Tar(t, all)
	var z, zs bytes.Buffer
	zw := zip.NewWriter(&z)
	for name, text := range map[string]string{"a/b": "1", "c": "2"} {
		w, err := zw.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link := &zip.FileHeader{Name: "l"}
	link.SetMode(fs.ModeSymlink | 0o777)
	w, err := zw.CreateHeader(link)
	if err == nil {
		_, err = w.Write([]byte("a/b"))
	}
	enc, encErr := zstd.NewWriter(&zs)
	if err := errors.Join(err, zw.Close(), encErr); err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Write(packed); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tar": packed, "tar.gz": remotetest.Gzip(t, packed), "tar.zst": zs.Bytes(), "zip": z.Bytes()} {
		s := open(t, Options{})
		for range 2 {
			got, left, err := unpacked(t, s, data)
			if diff := cmp.Diff(all, got); err != nil || diff != "" || len(left) > 0 {
				t.Errorf("%s: %v, %v\n%s", name, err, left, diff)
			}
		}
		if entries, err := os.ReadDir(s.o.Dir); err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == partialName }) {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	entries := func(all ...*tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range all {
			text := []byte("evil")
			h.Mode = 0o644
			if h.Typeflag == tar.TypeReg {
				h.Size = int64(len(text))
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				_, _ = w.Write(text)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	ok := &tar.Header{Name: "ok", Typeflag: tar.TypeReg}
	for name, tt := range map[string]struct {
		data  []byte
		want  map[string]string
		left  string
		wrong string
	}{
		"a parent":           {data: entries(&tar.Header{Name: "../x", Typeflag: tar.TypeReg}), wrong: "leads out"},
		"an absolute name":   {data: entries(&tar.Header{Name: "/etc/x", Typeflag: tar.TypeReg}), wrong: "leads out"},
		"a link out":         {data: entries(ok, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../../etc"}), want: map[string]string{"ok": "evil"}, left: "l is a link that leads out"},
		"an absolute link":   {data: entries(ok, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), want: map[string]string{"ok": "evil"}, left: "l is a link that leads out"},
		"under a link":       {data: entries(ok, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "."}, &tar.Header{Name: "l/x", Typeflag: tar.TypeReg}), want: map[string]string{"ok": "evil", "l": "->."}, left: "l/x lies under a link"},
		"a hard link out":    {data: entries(ok, &tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../x"}), want: map[string]string{"ok": "evil"}, left: "h is a link that leads out"},
		"a hard link":        {data: entries(ok, &tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "ok"}), want: map[string]string{"ok": "evil", "h": "evil"}},
		"a device":           {data: entries(ok, &tar.Header{Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}), want: map[string]string{"ok": "evil"}, left: "d is neither"},
		"a pipe":             {data: entries(ok, &tar.Header{Name: "p", Typeflag: tar.TypeFifo}), want: map[string]string{"ok": "evil"}, left: "p is neither"},
		"a bomb":             {data: remotetest.Gzip(t, remotetest.Tar(t, map[string]string{"zeros": strings.Repeat("\x00", 3<<20)})), wrong: "larger than a copy may be"},
		"nothing":            {data: entries(), wrong: "holds nothing"},
		"no archive":         {data: []byte("hello"), wrong: "no archive"},
		"half an archive":    {data: remotetest.Gzip(t, remotetest.Tar(t, map[string]string{"a": strings.Repeat("x", 5000)}))[:60], wrong: "broken"},
		"a name twice":       {data: entries(ok, &tar.Header{Name: "ok", Typeflag: tar.TypeReg}), want: map[string]string{"ok": "evil"}},
		"a name with nul":    {data: bytes.Replace(entries(ok), []byte("ok\x00"), []byte(".."+"\x00"), 1), wrong: "archive"},
		"a file as a folder": {data: entries(ok, &tar.Header{Name: "ok/x", Typeflag: tar.TypeReg}), wrong: "file exists"},
	} {
		s := open(t, Options{Most: 1 << 20})
		got, left, err := unpacked(t, s, tt.data)
		if (tt.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || tt.left != "" && !strings.HasPrefix(strings.Join(left, " "), tt.left) {
			t.Errorf("%s: left %q\n%s", name, left, diff)
		}
		if err != nil && git.SizeOf(s.o.Dir) > 2<<10 { // git's configuration
			t.Errorf("%s: %d bytes stay behind", name, git.SizeOf(s.o.Dir))
		}
	}
}
