package sanitize

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func TestAnArchiveRemovesWhatItCouldSubmit(t *testing.T) {
	rules := Rules{
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"build/"}, MaxBytes: 1 << 20, MaxFiles: 20},
		Protect: []string{"conftest.py", "/setup.cfg"},
		Hidden:  []string{"tests", "tests/test_a.py", "src/hidden.py"},
		Links:   map[string]string{"plain": "src/a.py", "way": "tests", "out": "", "dir": "src/deep"},
		Present: map[string]bool{
			"src": true, "src/a.py": false, "src/deep": true, "src/deep/b.py": false, "src/deep/c.py": false,
			"only": true, "only/x": false, "empty": true, "both": true, "both/x": false, "both/inner": true, "setup.cfg": false,
		},
	}
	for _, tt := range []struct {
		name    string
		archive []judgetest.Entry
		kept    []string
		dropped int
		refused string
	}{
		{"a file", []judgetest.Entry{judgetest.Gone("src/a.py")}, []string{"-src/a.py"}, 0, ""},
		{"what is not there", []judgetest.Entry{judgetest.Gone("src/none.py")}, []string{"-src/none.py"}, 0, ""},
		{"a link, and not what it leads to", []judgetest.Entry{judgetest.Gone("plain")}, []string{"-plain"}, 0, ""},
		{"sorted, and before the rest", []judgetest.Entry{judgetest.File("a", "1"), judgetest.Gone("z"), judgetest.Folder("more"), judgetest.Gone("b")}, []string{"-b", "-z", "a", "more/"}, 0, ""},
		{"no folder", []judgetest.Entry{judgetest.Gone("src/deep"), judgetest.Gone("empty"), judgetest.Gone("./empty")}, nil, 2, ""},
		{"no folder above what is hidden", []judgetest.Entry{judgetest.Gone("src")}, nil, 1, ""},
		{"no hidden file", []judgetest.Entry{judgetest.Gone("tests/test_a.py"), judgetest.Gone("tests"), judgetest.Gone("src/hidden.py"), judgetest.Gone("tests/new.py")}, nil, 4, ""},
		{"no settings of the runner", []judgetest.Entry{judgetest.Gone("conftest.py"), judgetest.Gone("src/conftest.py"), judgetest.Gone("setup.cfg")}, nil, 3, ""},
		{"nothing excluded", []judgetest.Entry{judgetest.Gone("build/x"), judgetest.Gone(".git/HEAD")}, nil, 2, ""},
		{"nothing through a link", []judgetest.Entry{judgetest.Gone("way/test_a.py"), judgetest.Gone("dir/b.py"), judgetest.Gone("out/passwd")}, nil, 3, ""},
		{"no other name of something hidden", []judgetest.Entry{judgetest.Gone("way"), judgetest.Gone("out")}, nil, 2, ""},
		{"what takes its place counts", []judgetest.Entry{judgetest.Gone("src/a.py"), judgetest.File("src/a.py", "new")}, []string{"src/a.py"}, 0, ""},
		{"the last word counts", []judgetest.Entry{judgetest.File("src/a.py", "new"), judgetest.Gone("src/a.py")}, []string{"-src/a.py"}, 0, ""},
		{"a folder for a file", []judgetest.Entry{judgetest.Gone("src/a.py"), judgetest.Folder("src/a.py"), judgetest.File("src/a.py/x", "")}, []string{"-src/a.py", "src/a.py/", "src/a.py/x"}, 0, ""},
		{"a folder for a file that stays", []judgetest.Entry{judgetest.Folder("src/a.py")}, nil, 0, "as a file where"},
		{"a file for a folder", []judgetest.Entry{judgetest.Gone("only/x"), judgetest.File("only", "")}, []string{"-only/x", "only"}, 0, ""},
		{"a link for a folder", []judgetest.Entry{judgetest.Gone("src/deep/b.py"), judgetest.Gone("src/deep/c.py"), judgetest.Link("src/deep", "../only")}, []string{"-src/deep/b.py", "-src/deep/c.py", "src/deep->../only"}, 0, ""},
		{"a file for a folder that holds more", []judgetest.Entry{judgetest.Gone("src/deep/b.py"), judgetest.File("src/deep", "")}, nil, 0, "as a file where"},
		{"a file for a folder that holds a folder", []judgetest.Entry{judgetest.Gone("both/x"), judgetest.File("both", "")}, nil, 0, "as a file where"},
		{"a file for an empty folder", []judgetest.Entry{judgetest.File("empty", "")}, nil, 0, "as a file where"},
		{"a folder for a link", []judgetest.Entry{judgetest.Gone("dir"), judgetest.File("dir/x", "")}, []string{"-dir", "dir/", "dir/x"}, 0, ""},
		{"an absolute path", []judgetest.Entry{judgetest.Gone("/etc/passwd")}, nil, 0, "absolute"},
		{"a parent folder", []judgetest.Entry{judgetest.Gone("../x")}, nil, 0, "parent folder"},
		{"the workdir", []judgetest.Entry{judgetest.Gone(".")}, nil, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			stats, err := Clean(bytes.NewReader(judgetest.Pack(t, tt.archive...)), &out, rules)
			if tt.refused != "" {
				if refusal, ok := errors.AsType[*round.Refusal](err); !ok || !strings.Contains(refusal.Detail, tt.refused) {
					t.Errorf("error %v, want a refusal for %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.kept, judgetest.Shown(t, out.Bytes())); diff != "" {
				t.Error(diff)
			}
			if stats.Dropped != tt.dropped || stats.Entries != len(tt.kept) {
				t.Errorf("%d dropped and %d kept, want %d and %d", stats.Dropped, stats.Entries, tt.dropped, len(tt.kept))
			}
		})
	}
}

func TestRemovalsAreCountedAndBoundedAndNothingElseOfThemIsKept(t *testing.T) {
	rules := Rules{Submit: task.Submit{Paths: []string{"."}, MaxFiles: 10}}
	clean := func(entries ...judgetest.Entry) ([]byte, error) {
		var out bytes.Buffer
		_, err := Clean(bytes.NewReader(judgetest.Pack(t, entries...)), &out, rules)
		return out.Bytes(), err
	}
	plain, err := clean(judgetest.Gone("a"))
	if err != nil {
		t.Fatal(err)
	}
	dressed := judgetest.Gone("./a")
	dressed.Head.PAXRecords["SENDER.more"], dressed.Head.Mode, dressed.Head.Uid = "x", 0o4777, 7
	dressed.Head.Size, dressed.Content = 3, "abc"
	other, err := clean(dressed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(plain, other) {
		t.Error("what a sender adds to a removal is another tree")
	}
	nothing, err := clean()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(plain, nothing) {
		t.Error("a removal does not count for the identity of a tree")
	}
	var many []judgetest.Entry
	for i := range 11 {
		many = append(many, judgetest.Gone(fmt.Sprint("f", i)))
	}
	if _, err := clean(many...); err == nil {
		t.Error("more removals than entries are allowed")
	}
}
