package sanitize

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func testRules(t testing.TB) Rules {
	return Rules{
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"tests/", "*.pyc"}, MaxBytes: 1 << 20, MaxFiles: 100},
		Protect: []string{"conftest.py"},
		Hidden:  []string{"lib/secret.txt", "grader"},
		Links:   map[string]string{"vendor": "third", "t": "tests", "data": "", "alias": "lib"},
		Present: map[string]bool{"third": true, "pkg": true, "main.py": false},
		Spool:   t.TempDir(),
	}
}

func TestCleaningKeepsOnlyWhatMayBeSubmitted(t *testing.T) {
	tests := map[string]struct {
		in      []judgetest.Entry
		want    string
		dropped int
	}{
		"names are normalised":                       {[]judgetest.Entry{judgetest.File("./src//a.py", "1")}, "src/ src/a.py=1", 0},
		"excluded, however it is written":            {[]judgetest.Entry{judgetest.File("./tests/x", "1"), judgetest.File("tests//x", "2"), judgetest.File(".//tests/./x", "3")}, "", 3},
		"excluded at any depth":                      {[]judgetest.Entry{judgetest.File("src/tests/x", "1"), judgetest.File("src/b.pyc", "1"), judgetest.File("b/c", "1")}, "b/ b/c=1", 2},
		"a file in place of an excluded folder":      {[]judgetest.Entry{judgetest.File("tests", "1")}, "", 1},
		"protected by the parser":                    {[]judgetest.Entry{judgetest.File("a/conftest.py", "1"), judgetest.File("a/b", "2")}, "a/ a/b=2", 1},
		"a hidden file":                              {[]judgetest.Entry{judgetest.File("lib/secret.txt", "1"), judgetest.File("lib/x", "2")}, "lib/x=2", 1},
		"below a hidden folder":                      {[]judgetest.Entry{judgetest.File("grader/x/y", "1")}, "", 1},
		"a file in place of a folder with secrets":   {[]judgetest.Entry{judgetest.File("lib", "1")}, "", 1},
		"a link in place of a folder with secrets":   {[]judgetest.Entry{judgetest.Link("lib", "src"), judgetest.Folder("src")}, "src/", 1},
		"the mode of a folder with secrets stays":    {[]judgetest.Entry{judgetest.Folder("lib")}, "", 1},
		"below a link of the image":                  {[]judgetest.Entry{judgetest.Folder("vendor"), judgetest.File("vendor/x", "1")}, "", 2},
		"a link of the image may become a file":      {[]judgetest.Entry{judgetest.File("vendor", "1")}, "vendor=1", 0},
		"but not when it is a name of hidden things": {[]judgetest.Entry{judgetest.File("t", "1"), judgetest.File("alias", "1"), judgetest.Folder("t")}, "", 2},
		"nor when it leads out":                      {[]judgetest.Entry{judgetest.File("data", "1")}, "", 1},
		"the last entry of a name wins":              {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.File("./a", "2")}, "a=2", 0},
		"git's own folder":                           {[]judgetest.Entry{judgetest.File(".git/config", "1"), judgetest.File("a", "1")}, "a=1", 1},

		"a link to what could be submitted":    {[]judgetest.Entry{judgetest.File("a/b", "1"), judgetest.Link("c/l", "../a/b")}, "a/ a/b=1 c/ c/l->../a/b", 0},
		"a link in roundabout words":           {[]judgetest.Entry{judgetest.Link("a/l", "../a/./x/../b"), judgetest.File("a/b", "1")}, "a/ a/b=1 a/l->b", 0},
		"a link to an excluded file":           {[]judgetest.Entry{judgetest.Link("l", "tests/x")}, "", 1},
		"a link to a hidden file":              {[]judgetest.Entry{judgetest.Link("src/l", "../lib/secret.txt")}, "", 1},
		"a link out of the workdir":            {[]judgetest.Entry{judgetest.Link("l", "../x"), judgetest.Link("m", "a/../../x"), judgetest.Link("n", "/etc/passwd")}, "", 3},
		"a link to the workdir itself":         {[]judgetest.Entry{judgetest.Link("a/l", "..")}, "", 1},
		"a link through a link of the archive": {[]judgetest.Entry{judgetest.Folder("d/e"), judgetest.Link("k", "d/e"), judgetest.Link("l", "k/../lib2")}, "d/ d/e/ k->d/e l->lib2", 0},
		"a link behind a link":                 {[]judgetest.Entry{judgetest.Link("k", "d"), judgetest.Link("l", "k/x")}, "k->d", 1},
		"a link through a link of the image":   {[]judgetest.Entry{judgetest.Link("l", "alias/x"), judgetest.Link("m", "vendor/x")}, "", 2},
		"a link to a name of hidden things":    {[]judgetest.Entry{judgetest.Link("l", "t")}, "", 1},
		"an entry under a link of the archive": {[]judgetest.Entry{judgetest.Link("l", "third"), judgetest.File("l/x", "1")}, "l->third", 1},
		"in whatever order":                    {[]judgetest.Entry{judgetest.File("l/x", "1"), judgetest.Link("l", "third")}, "l->third", 1},
		"an entry under a file":                {[]judgetest.Entry{judgetest.File("f", "1"), judgetest.File("f/x", "1")}, "f=1", 1},

		"a hard link becomes a copy":             {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Hard("b", "./a")}, "a=1 b=1", 0},
		"a hard link onto a hidden file":         {[]judgetest.Entry{judgetest.Hard("b", "lib/secret.txt"), judgetest.Hard("c", "tests/x")}, "", 2},
		"a hard link in place of a hidden file":  {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Hard("tests/x", "a")}, "a=1", 1},
		"a hard link to something later":         {[]judgetest.Entry{judgetest.Hard("b", "a"), judgetest.File("a", "1")}, "a=1", 1},
		"a hard link to a link":                  {[]judgetest.Entry{judgetest.Link("a", "c"), judgetest.Hard("b", "a")}, "a->c", 1},
		"devices where nothing may be submitted": {[]judgetest.Entry{judgetest.Special(tar.TypeFifo, "tests/p"), judgetest.File("a", "1")}, "a=1", 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, archive := range [][]byte{judgetest.Pack(t, tc.in...), judgetest.Zipped(t, judgetest.Pack(t, tc.in...))} {
				var out bytes.Buffer
				stats, err := Clean(bytes.NewReader(archive), &out, testRules(t))
				if err != nil {
					t.Fatal(err)
				}
				if got := judgetest.Listing(t, out.Bytes()); got != tc.want {
					t.Errorf("kept %q, want %q", got, tc.want)
				}
				if stats.Dropped != tc.dropped {
					t.Errorf("dropped %d, want %d", stats.Dropped, tc.dropped)
				}
			}
		})
	}
}

func TestCleaningRefusesWhatNoHonestArchiveHolds(t *testing.T) {
	many := make([]judgetest.Entry, 400)
	for i := range many {
		many[i] = judgetest.File(path.Join("d", strings.Repeat("x", i%200+1), "f"), "")
	}
	deep := strings.Repeat("a/", 200) + "f"
	tests := map[string]struct {
		archive []byte
		code    int
		names   string // what the refusal says
	}{
		"absolute path":                       {judgetest.Pack(t, judgetest.File("/etc/passwd", "1")), 400, "/etc/passwd"},
		"parent folder":                       {judgetest.Pack(t, judgetest.File("a/../tests/x", "1")), 400, "a/../tests/x"},
		"parent, plainly":                     {judgetest.Pack(t, judgetest.File("../x", "1")), 400, "../x"},
		"device":                              {judgetest.Pack(t, judgetest.Special(tar.TypeChar, "dev")), 400, "dev"},
		"pipe":                                {judgetest.Pack(t, judgetest.Special(tar.TypeFifo, "p")), 400, `"p"`},
		"line break in name":                  {judgetest.Pack(t, judgetest.File("a\nb", "1")), 400, `a\nb`},
		"escape in name":                      {judgetest.Pack(t, judgetest.File("a\x1bb", "1")), 400, "control"},
		"not UTF-8":                           {judgetest.Pack(t, judgetest.Entry{Head: tar.Header{Typeflag: tar.TypeReg, Name: "a\xff", Format: tar.FormatGNU}, Content: ""}), 400, "UTF-8"},
		"long element":                        {judgetest.Pack(t, judgetest.File(strings.Repeat("a", 256), "1")), 400, "256 bytes"},
		"long path":                           {judgetest.Pack(t, judgetest.File(strings.Repeat("abcdefg/", 600)+"f", "1")), 400, "4000"},
		"deep path":                           {judgetest.Pack(t, judgetest.File(deep, "1")), 400, "elements"},
		"too many bytes":                      {judgetest.Pack(t, judgetest.File("a", strings.Repeat("x", 1<<20)), judgetest.File("b", "1")), 413, "1048576"},
		"by hard links":                       {judgetest.Pack(t, judgetest.File("a", strings.Repeat("x", 600<<10)), judgetest.Hard("b", "a")), 413, "1048576"},
		"too many entries":                    {judgetest.Pack(t, many...), 413, "100 entries"},
		"a size that is a lie":                {judgetest.Pack(t, judgetest.File("a", strings.Repeat("x", 300)))[:600], 400, "cannot be read"},
		"no archive":                          {[]byte("<html>"), 400, "cannot be read: it is no tar or tar.gz"},
		"a letter":                            {[]byte("x"), 400, "cannot be read: it is no tar or tar.gz"},
		"a long text":                         {bytes.Repeat([]byte("text "), 1000), 400, "cannot be read: it is no tar or tar.gz"},
		"a packed text":                       {judgetest.Zipped(t, bytes.Repeat([]byte("text "), 1000)), 400, "cannot be read: it is no tar or tar.gz"},
		"broken gzip":                         {judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("a", "1")))[:40], 400, "cannot be read: unexpected EOF"},
		"nothing":                             {nil, 400, "empty"},
		"a file where the image has a folder": {judgetest.Pack(t, judgetest.File("pkg", "1")), 400, "pkg"},
		"a folder where the image has a file": {judgetest.Pack(t, judgetest.File("main.py/x", "1")), 400, "main.py"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Clean(bytes.NewReader(tc.archive), io.Discard, testRules(t))
			r, ok := errors.AsType[*round.Refusal](err)
			if !ok || r.Code != tc.code || !strings.Contains(r.Detail, tc.names) {
				t.Errorf("got %v, want a refusal with %d and %q", err, tc.code, tc.names)
			}
		})
	}
}

func TestBombsAreDefusedEarly(t *testing.T) {
	rules := testRules(t)
	rules.Submit.MaxBytes, rules.Submit.MaxFiles = 1<<30, 100_000
	zeros := judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("a", strings.Repeat("\x00", 64<<20))))
	if _, err := Clean(bytes.NewReader(zeros), io.Discard, rules); err == nil || !strings.Contains(err.Error(), "200 times") {
		t.Errorf("64 MiB of nothing: %v", err)
	}
	endless := &endlessEntries{t: t}
	if _, err := Clean(endless, io.Discard, rules); err == nil || !strings.Contains(err.Error(), "entries") {
		t.Errorf("entries without end: %v", err)
	}
	if endless.read > 400<<20 {
		t.Errorf("%d bytes were read before the refusal", endless.read)
	}
}

// endlessEntries is a tar stream of empty files that never ends.
type endlessEntries struct {
	t    testing.TB
	n    int
	read int64
	rest []byte
}

func (e *endlessEntries) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.n++
		h := tar.Header{Typeflag: tar.TypeReg, Name: "tests/" + strings.Repeat("x", e.n%50+1), Mode: 0o644}
		var buf bytes.Buffer
		if err := tar.NewWriter(&buf).WriteHeader(&h); err != nil {
			e.t.Fatal(err)
		}
		e.rest = buf.Bytes()
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += int64(n)
	return n, nil
}

func TestEqualTreesBecomeEqualArchives(t *testing.T) {
	a := judgetest.Pack(t, judgetest.File("b", "2"), judgetest.Folder("d"), judgetest.File("d/a", "1"))
	noisy := judgetest.File("./d/a", "1")
	noisy.Head.Uid, noisy.Head.Uname, noisy.Head.Mode, noisy.Head.ModTime = 1000, "agent", 0o6644, cleanTime.AddDate(30, 0, 0)
	b := judgetest.Zipped(t, judgetest.Pack(t, noisy, judgetest.File("b", "2")))
	if !bytes.Equal(cleaned(t, a), cleaned(t, b)) {
		t.Error("order, owners, times, special bits and compression make a difference")
	}
}

func cleaned(t testing.TB, archive []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := Clean(bytes.NewReader(archive), &out, testRules(t)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// genEntries makes archives out of few names, so that entries meet each other.
func genEntries() *rapid.Generator[[]judgetest.Entry] {
	name := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "lib", "tests", "secret.txt", "grader", "vendor", "t", "alias", "data", "third", "conftest.py", ".", "x",
		}), 1, 4).Draw(t, "parts")
		return rapid.SampledFrom([]string{"", "./"}).Draw(t, "lead") + strings.Join(parts, "/")
	})
	target := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("../", rapid.IntRange(0, 3).Draw(t, "up")) + name.Draw(t, "target")
	})
	entry := rapid.Custom(func(t *rapid.T) judgetest.Entry {
		n := name.Draw(t, "name")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return judgetest.Folder(n)
		case 1, 2:
			return judgetest.Link(n, target.Draw(t, "to"))
		case 3:
			return judgetest.Hard(n, name.Draw(t, "of"))
		}
		return judgetest.File(n, "evil")
	})
	return rapid.SliceOfN(entry, 0, 12)
}

func TestNoArchiveChangesAHiddenFile(t *testing.T) {
	rules := testRules(t)
	rules.Present = nil
	rules.Hidden = append(rules.Hidden, "tests", "tests/x", "a/conftest.py") // as the profile finds them
	rapid.Check(t, func(rt *rapid.T) {
		var once, twice bytes.Buffer
		if _, err := Clean(bytes.NewReader(judgetest.Pack(t, genEntries().Draw(rt, "archive")...)), &once, rules); err != nil {
			rt.Fatal(err)
		}
		tree := imageTree()
		tree.extract(rt, once.Bytes())
		for _, hidden := range []string{"lib/secret.txt", "grader/run", "tests/x", "a/conftest.py"} {
			for _, way := range []string{hidden, strings.Replace(hidden, "lib/", "alias/", 1), strings.Replace(hidden, "tests/", "t/", 1)} {
				if got := tree.read(way); got != "hidden" {
					rt.Fatalf("%s reads %q after %q", way, got, judgetest.Listing(t, once.Bytes()))
				}
			}
		}
		if _, err := Clean(bytes.NewReader(once.Bytes()), &twice, rules); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			rt.Fatalf("cleaned twice: %q, then %q", judgetest.Listing(t, once.Bytes()), judgetest.Listing(t, twice.Bytes()))
		}
	})
}

// model is a file system as an archiver sees it: links are followed on the way.
type model map[string]judgetest.Entry

func imageTree() model {
	m := model{}
	for _, e := range []judgetest.Entry{
		judgetest.Folder("lib"), judgetest.File("lib/secret.txt", "hidden"), judgetest.Folder("grader"), judgetest.File("grader/run", "hidden"),
		judgetest.Folder("tests"), judgetest.File("tests/x", "hidden"), judgetest.Folder("a"), judgetest.File("a/conftest.py", "hidden"), judgetest.Folder("third"),
		judgetest.Link("vendor", "third"), judgetest.Link("t", "tests"), judgetest.Link("data", "/srv/data"), judgetest.Link("alias", "lib"),
	} {
		m[strings.TrimSuffix(e.Head.Name, "/")] = e
	}
	return m
}

// real follows all links on the way to the last element, and that too when asked.
func (m model) real(name string, last bool) string {
	at := "."
	rest := strings.Split(name, "/")
	for hops := 0; len(rest) > 0 && hops < 50; {
		next := path.Join(at, rest[0])
		e, ok := m[next]
		rest = rest[1:]
		if ok && e.Head.Typeflag == tar.TypeSymlink && (len(rest) > 0 || last) {
			hops++
			rest = append(strings.Split(e.Head.Linkname, "/"), rest...)
			continue
		}
		at = next
	}
	return at
}

func (m model) read(name string) string { return m[m.real(name, true)].Content }

func (m model) extract(t *rapid.T, archive []byte) {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := m.real(strings.TrimSuffix(h.Name, "/"), false)
		if old, ok := m[name]; !ok || old.Head.Typeflag != tar.TypeDir || h.Typeflag != tar.TypeDir {
			for below := range m {
				if strings.HasPrefix(below, name+"/") {
					delete(m, below)
				}
			}
		}
		m[name] = judgetest.Entry{Head: *h, Content: string(content)}
	}
}

func FuzzClean(f *testing.F) {
	f.Add(judgetest.Pack(f, judgetest.File("a/b", "1"), judgetest.Link("l", "a/b"), judgetest.Hard("h", "a/b"), judgetest.Folder("tests")))
	f.Add(judgetest.Zipped(f, judgetest.Pack(f, judgetest.File("./tests/x", "1"))))
	f.Add([]byte("\x1f\x8b\x08"))
	rules := testRules(f)
	f.Fuzz(func(t *testing.T, archive []byte) {
		var once, twice bytes.Buffer
		if _, err := Clean(bytes.NewReader(archive), &once, rules); err != nil {
			if _, ok := errors.AsType[*round.Refusal](err); !ok {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		book, err := NewRulebook(rules)
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(bytes.NewReader(once.Bytes())); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if name, err := normalise(h.Name); err != nil || !book.open(name) {
				t.Fatalf("%q was let through (%v)", h.Name, err)
			}
		}
		if _, err := Clean(bytes.NewReader(once.Bytes()), &twice, rules); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("cleaning again changes it (%v)", err)
		}
	})
}
