package judge

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
		in      []tarEntry
		want    string
		dropped int
	}{
		"names are normalised":                       {[]tarEntry{file("./src//a.py", "1")}, "src/ src/a.py=1", 0},
		"excluded, however it is written":            {[]tarEntry{file("./tests/x", "1"), file("tests//x", "2"), file(".//tests/./x", "3")}, "", 3},
		"excluded at any depth":                      {[]tarEntry{file("src/tests/x", "1"), file("src/b.pyc", "1"), file("b/c", "1")}, "b/ b/c=1", 2},
		"a file in place of an excluded folder":      {[]tarEntry{file("tests", "1")}, "", 1},
		"protected by the parser":                    {[]tarEntry{file("a/conftest.py", "1"), file("a/b", "2")}, "a/ a/b=2", 1},
		"a hidden file":                              {[]tarEntry{file("lib/secret.txt", "1"), file("lib/x", "2")}, "lib/x=2", 1},
		"below a hidden folder":                      {[]tarEntry{file("grader/x/y", "1")}, "", 1},
		"a file in place of a folder with secrets":   {[]tarEntry{file("lib", "1")}, "", 1},
		"a link in place of a folder with secrets":   {[]tarEntry{link("lib", "src"), folder("src")}, "src/", 1},
		"the mode of a folder with secrets stays":    {[]tarEntry{folder("lib")}, "", 1},
		"below a link of the image":                  {[]tarEntry{folder("vendor"), file("vendor/x", "1")}, "", 2},
		"a link of the image may become a file":      {[]tarEntry{file("vendor", "1")}, "vendor=1", 0},
		"but not when it is a name of hidden things": {[]tarEntry{file("t", "1"), file("alias", "1"), folder("t")}, "", 2},
		"nor when it leads out":                      {[]tarEntry{file("data", "1")}, "", 1},
		"the last entry of a name wins":              {[]tarEntry{file("a", "1"), file("./a", "2")}, "a=2", 0},
		"git's own folder":                           {[]tarEntry{file(".git/config", "1"), file("a", "1")}, "a=1", 1},

		"a link to what could be submitted":    {[]tarEntry{file("a/b", "1"), link("c/l", "../a/b")}, "a/ a/b=1 c/ c/l->../a/b", 0},
		"a link in roundabout words":           {[]tarEntry{link("a/l", "../a/./x/../b"), file("a/b", "1")}, "a/ a/b=1 a/l->b", 0},
		"a link to an excluded file":           {[]tarEntry{link("l", "tests/x")}, "", 1},
		"a link to a hidden file":              {[]tarEntry{link("src/l", "../lib/secret.txt")}, "", 1},
		"a link out of the workdir":            {[]tarEntry{link("l", "../x"), link("m", "a/../../x"), link("n", "/etc/passwd")}, "", 3},
		"a link to the workdir itself":         {[]tarEntry{link("a/l", "..")}, "", 1},
		"a link through a link of the archive": {[]tarEntry{folder("d/e"), link("k", "d/e"), link("l", "k/../lib2")}, "d/ d/e/ k->d/e l->lib2", 0},
		"a link behind a link":                 {[]tarEntry{link("k", "d"), link("l", "k/x")}, "k->d", 1},
		"a link through a link of the image":   {[]tarEntry{link("l", "alias/x"), link("m", "vendor/x")}, "", 2},
		"a link to a name of hidden things":    {[]tarEntry{link("l", "t")}, "", 1},
		"an entry under a link of the archive": {[]tarEntry{link("l", "third"), file("l/x", "1")}, "l->third", 1},
		"in whatever order":                    {[]tarEntry{file("l/x", "1"), link("l", "third")}, "l->third", 1},
		"an entry under a file":                {[]tarEntry{file("f", "1"), file("f/x", "1")}, "f=1", 1},

		"a hard link becomes a copy":             {[]tarEntry{file("a", "1"), hard("b", "./a")}, "a=1 b=1", 0},
		"a hard link onto a hidden file":         {[]tarEntry{hard("b", "lib/secret.txt"), hard("c", "tests/x")}, "", 2},
		"a hard link in place of a hidden file":  {[]tarEntry{file("a", "1"), hard("tests/x", "a")}, "a=1", 1},
		"a hard link to something later":         {[]tarEntry{hard("b", "a"), file("a", "1")}, "a=1", 1},
		"a hard link to a link":                  {[]tarEntry{link("a", "c"), hard("b", "a")}, "a->c", 1},
		"devices where nothing may be submitted": {[]tarEntry{special(tar.TypeFifo, "tests/p"), file("a", "1")}, "a=1", 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, archive := range [][]byte{pack(t, tc.in...), zipped(t, pack(t, tc.in...))} {
				var out bytes.Buffer
				stats, err := Clean(bytes.NewReader(archive), &out, testRules(t))
				if err != nil {
					t.Fatal(err)
				}
				if got := listing(t, out.Bytes()); got != tc.want {
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
	many := make([]tarEntry, 400)
	for i := range many {
		many[i] = file(path.Join("d", strings.Repeat("x", i%200+1), "f"), "")
	}
	deep := strings.Repeat("a/", 200) + "f"
	tests := map[string]struct {
		archive []byte
		code    int
		names   string // what the refusal says
	}{
		"absolute path":                       {pack(t, file("/etc/passwd", "1")), 400, "/etc/passwd"},
		"parent folder":                       {pack(t, file("a/../tests/x", "1")), 400, "a/../tests/x"},
		"parent, plainly":                     {pack(t, file("../x", "1")), 400, "../x"},
		"device":                              {pack(t, special(tar.TypeChar, "dev")), 400, "dev"},
		"pipe":                                {pack(t, special(tar.TypeFifo, "p")), 400, `"p"`},
		"line break in name":                  {pack(t, file("a\nb", "1")), 400, `a\nb`},
		"escape in name":                      {pack(t, file("a\x1bb", "1")), 400, "control"},
		"not UTF-8":                           {pack(t, tarEntry{tar.Header{Typeflag: tar.TypeReg, Name: "a\xff", Format: tar.FormatGNU}, ""}), 400, "UTF-8"},
		"long element":                        {pack(t, file(strings.Repeat("a", 256), "1")), 400, "256 bytes"},
		"long path":                           {pack(t, file(strings.Repeat("abcdefg/", 600)+"f", "1")), 400, "4000"},
		"deep path":                           {pack(t, file(deep, "1")), 400, "elements"},
		"too many bytes":                      {pack(t, file("a", strings.Repeat("x", 1<<20)), file("b", "1")), 413, "1048576"},
		"by hard links":                       {pack(t, file("a", strings.Repeat("x", 600<<10)), hard("b", "a")), 413, "1048576"},
		"too many entries":                    {pack(t, many...), 413, "100 entries"},
		"a size that is a lie":                {pack(t, file("a", strings.Repeat("x", 300)))[:600], 400, "cannot be read"},
		"no archive":                          {[]byte("<html>"), 400, "cannot be read: it is no tar or tar.gz"},
		"a letter":                            {[]byte("x"), 400, "cannot be read: it is no tar or tar.gz"},
		"a long text":                         {bytes.Repeat([]byte("text "), 1000), 400, "cannot be read: it is no tar or tar.gz"},
		"a packed text":                       {zipped(t, bytes.Repeat([]byte("text "), 1000)), 400, "cannot be read: it is no tar or tar.gz"},
		"broken gzip":                         {zipped(t, pack(t, file("a", "1")))[:40], 400, "cannot be read: unexpected EOF"},
		"nothing":                             {nil, 400, "empty"},
		"a file where the image has a folder": {pack(t, file("pkg", "1")), 400, "pkg"},
		"a folder where the image has a file": {pack(t, file("main.py/x", "1")), 400, "main.py"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Clean(bytes.NewReader(tc.archive), io.Discard, testRules(t))
			r, ok := errors.AsType[*Refusal](err)
			if !ok || r.Code != tc.code || !strings.Contains(r.Detail, tc.names) {
				t.Errorf("got %v, want a refusal with %d and %q", err, tc.code, tc.names)
			}
		})
	}
}

func TestBombsAreDefusedEarly(t *testing.T) {
	rules := testRules(t)
	rules.Submit.MaxBytes, rules.Submit.MaxFiles = 1<<30, 100_000
	zeros := zipped(t, pack(t, file("a", strings.Repeat("\x00", 64<<20))))
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
	a := pack(t, file("b", "2"), folder("d"), file("d/a", "1"))
	noisy := file("./d/a", "1")
	noisy.head.Uid, noisy.head.Uname, noisy.head.Mode, noisy.head.ModTime = 1000, "agent", 0o6644, cleanTime.AddDate(30, 0, 0)
	b := zipped(t, pack(t, noisy, file("b", "2")))
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
func genEntries() *rapid.Generator[[]tarEntry] {
	name := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "lib", "tests", "secret.txt", "grader", "vendor", "t", "alias", "data", "third", "conftest.py", ".", "x",
		}), 1, 4).Draw(t, "parts")
		return rapid.SampledFrom([]string{"", "./"}).Draw(t, "lead") + strings.Join(parts, "/")
	})
	target := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("../", rapid.IntRange(0, 3).Draw(t, "up")) + name.Draw(t, "target")
	})
	entry := rapid.Custom(func(t *rapid.T) tarEntry {
		n := name.Draw(t, "name")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return folder(n)
		case 1, 2:
			return link(n, target.Draw(t, "to"))
		case 3:
			return hard(n, name.Draw(t, "of"))
		}
		return file(n, "evil")
	})
	return rapid.SliceOfN(entry, 0, 12)
}

func TestNoArchiveChangesAHiddenFile(t *testing.T) {
	rules := testRules(t)
	rules.Present = nil
	rules.Hidden = append(rules.Hidden, "tests", "tests/x", "a/conftest.py") // as the profile finds them
	rapid.Check(t, func(rt *rapid.T) {
		var once, twice bytes.Buffer
		if _, err := Clean(bytes.NewReader(pack(t, genEntries().Draw(rt, "archive")...)), &once, rules); err != nil {
			rt.Fatal(err)
		}
		tree := imageTree()
		tree.extract(rt, once.Bytes())
		for _, hidden := range []string{"lib/secret.txt", "grader/run", "tests/x", "a/conftest.py"} {
			for _, way := range []string{hidden, strings.Replace(hidden, "lib/", "alias/", 1), strings.Replace(hidden, "tests/", "t/", 1)} {
				if got := tree.read(way); got != "hidden" {
					rt.Fatalf("%s reads %q after %q", way, got, listing(t, once.Bytes()))
				}
			}
		}
		if _, err := Clean(bytes.NewReader(once.Bytes()), &twice, rules); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			rt.Fatalf("cleaned twice: %q, then %q", listing(t, once.Bytes()), listing(t, twice.Bytes()))
		}
	})
}

// model is a file system as an archiver sees it: links are followed on the way.
type model map[string]tarEntry

func imageTree() model {
	m := model{}
	for _, e := range []tarEntry{
		folder("lib"), file("lib/secret.txt", "hidden"), folder("grader"), file("grader/run", "hidden"),
		folder("tests"), file("tests/x", "hidden"), folder("a"), file("a/conftest.py", "hidden"), folder("third"),
		link("vendor", "third"), link("t", "tests"), link("data", "/srv/data"), link("alias", "lib"),
	} {
		m[strings.TrimSuffix(e.head.Name, "/")] = e
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
		if ok && e.head.Typeflag == tar.TypeSymlink && (len(rest) > 0 || last) {
			hops++
			rest = append(strings.Split(e.head.Linkname, "/"), rest...)
			continue
		}
		at = next
	}
	return at
}

func (m model) read(name string) string { return m[m.real(name, true)].content }

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
		if old, ok := m[name]; !ok || old.head.Typeflag != tar.TypeDir || h.Typeflag != tar.TypeDir {
			for below := range m {
				if strings.HasPrefix(below, name+"/") {
					delete(m, below)
				}
			}
		}
		m[name] = tarEntry{*h, string(content)}
	}
}

func FuzzClean(f *testing.F) {
	f.Add(pack(f, file("a/b", "1"), link("l", "a/b"), hard("h", "a/b"), folder("tests")))
	f.Add(zipped(f, pack(f, file("./tests/x", "1"))))
	f.Add([]byte("\x1f\x8b\x08"))
	rules := testRules(f)
	f.Fuzz(func(t *testing.T, archive []byte) {
		var once, twice bytes.Buffer
		if _, err := Clean(bytes.NewReader(archive), &once, rules); err != nil {
			if _, ok := errors.AsType[*Refusal](err); !ok {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		book, err := newRulebook(rules)
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
