package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

func gone(name string) tarEntry { return tarEntry{*patch.Removal(name), ""} }

// shown lists an archive as listing does, with "-name" for what is gone.
func shown(t *testing.T, archive []byte) (lines []string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case patch.Removes(h):
			lines = append(lines, "-"+h.Name)
		case h.Typeflag == tar.TypeSymlink:
			lines = append(lines, h.Name+"->"+h.Linkname)
		default:
			lines = append(lines, h.Name)
		}
	}
}

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
		archive []tarEntry
		kept    []string
		dropped int
		refused string
	}{
		{"a file", []tarEntry{gone("src/a.py")}, []string{"-src/a.py"}, 0, ""},
		{"what is not there", []tarEntry{gone("src/none.py")}, []string{"-src/none.py"}, 0, ""},
		{"a link, and not what it leads to", []tarEntry{gone("plain")}, []string{"-plain"}, 0, ""},
		{"sorted, and before the rest", []tarEntry{file("a", "1"), gone("z"), folder("more"), gone("b")}, []string{"-b", "-z", "a", "more/"}, 0, ""},
		{"no folder", []tarEntry{gone("src/deep"), gone("empty"), gone("./empty")}, nil, 2, ""},
		{"no folder above what is hidden", []tarEntry{gone("src")}, nil, 1, ""},
		{"no hidden file", []tarEntry{gone("tests/test_a.py"), gone("tests"), gone("src/hidden.py"), gone("tests/new.py")}, nil, 4, ""},
		{"no settings of the runner", []tarEntry{gone("conftest.py"), gone("src/conftest.py"), gone("setup.cfg")}, nil, 3, ""},
		{"nothing excluded", []tarEntry{gone("build/x"), gone(".git/HEAD")}, nil, 2, ""},
		{"nothing through a link", []tarEntry{gone("way/test_a.py"), gone("dir/b.py"), gone("out/passwd")}, nil, 3, ""},
		{"no other name of something hidden", []tarEntry{gone("way"), gone("out")}, nil, 2, ""},
		{"what takes its place counts", []tarEntry{gone("src/a.py"), file("src/a.py", "new")}, []string{"src/a.py"}, 0, ""},
		{"the last word counts", []tarEntry{file("src/a.py", "new"), gone("src/a.py")}, []string{"-src/a.py"}, 0, ""},
		{"a folder for a file", []tarEntry{gone("src/a.py"), folder("src/a.py"), file("src/a.py/x", "")}, []string{"-src/a.py", "src/a.py/", "src/a.py/x"}, 0, ""},
		{"a folder for a file that stays", []tarEntry{folder("src/a.py")}, nil, 0, "as a file where"},
		{"a file for a folder", []tarEntry{gone("only/x"), file("only", "")}, []string{"-only/x", "only"}, 0, ""},
		{"a link for a folder", []tarEntry{gone("src/deep/b.py"), gone("src/deep/c.py"), link("src/deep", "../only")}, []string{"-src/deep/b.py", "-src/deep/c.py", "src/deep->../only"}, 0, ""},
		{"a file for a folder that holds more", []tarEntry{gone("src/deep/b.py"), file("src/deep", "")}, nil, 0, "as a file where"},
		{"a file for a folder that holds a folder", []tarEntry{gone("both/x"), file("both", "")}, nil, 0, "as a file where"},
		{"a file for an empty folder", []tarEntry{file("empty", "")}, nil, 0, "as a file where"},
		{"a folder for a link", []tarEntry{gone("dir"), file("dir/x", "")}, []string{"-dir", "dir/", "dir/x"}, 0, ""},
		{"an absolute path", []tarEntry{gone("/etc/passwd")}, nil, 0, "absolute"},
		{"a parent folder", []tarEntry{gone("../x")}, nil, 0, "parent folder"},
		{"the workdir", []tarEntry{gone(".")}, nil, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			stats, err := Clean(bytes.NewReader(pack(t, tt.archive...)), &out, rules)
			if tt.refused != "" {
				if refusal, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(refusal.Detail, tt.refused) {
					t.Errorf("error %v, want a refusal for %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.kept, shown(t, out.Bytes())); diff != "" {
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
	clean := func(entries ...tarEntry) ([]byte, error) {
		var out bytes.Buffer
		_, err := Clean(bytes.NewReader(pack(t, entries...)), &out, rules)
		return out.Bytes(), err
	}
	plain, err := clean(gone("a"))
	if err != nil {
		t.Fatal(err)
	}
	dressed := gone("./a")
	dressed.head.PAXRecords["SENDER.more"], dressed.head.Mode, dressed.head.Uid = "x", 0o4777, 7
	dressed.head.Size, dressed.content = 3, "abc"
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
	var many []tarEntry
	for i := range 11 {
		many = append(many, gone(fmt.Sprint("f", i)))
	}
	if _, err := clean(many...); err == nil {
		t.Error("more removals than entries are allowed")
	}
}

// withGuest has a fake engine answer what a judge asks of the guest: the rest goes on to exec.
func (b *bench) withGuest(exec inContainer) (asked func() []string) {
	var calls []string
	b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		if cmd.Argv[0] != "/guest" {
			return exec(ctx, c, cmd)
		}
		list := ""
		if cmd.Argv[1] == "remove" {
			text, _ := io.ReadAll(cmd.Stdin)
			list = string(text)
			for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
				c.RemoveFile(strings.TrimSuffix(cmd.Workdir, "/") + "/" + name)
			}
		}
		calls = append(calls, strings.Join([]string{cmd.Argv[1], cmd.User, cmd.Workdir, strings.ReplaceAll(list, "\x00", ",")}, " "))
		return 0
	})
	return func() []string { return slices.Clone(calls) }
}

func TestWhatIsGoneIsRemovedBeforeTheRestIsLaidOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Guest = "/guest" })
		calls := b.withGuest(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if _, ok := c.ReadFile("/work/src/old"); ok {
				t.Error("src/old is still there")
			}
			want(t, c, "/work/src/new", "new")
			want(t, c, "/work/tests/hidden", "hidden")
			_, _ = io.WriteString(cmd.Stdout, "a passed\n")
			return 0
		})
		b.open("t", func(s *Session) { s.JudgeImage = b.guestImage() })
		sub := b.judgeOne(t, "t", gone("src/old"), gone("tests/hidden"), file("src/new", "new"))
		if sub.Report.PassRate != 1 || sub.Dropped != 1 {
			t.Errorf("%+v, %d dropped", sub.Report, sub.Dropped)
		}
		if diff := cmp.Diff([]string{"remove 0:0 /work src/old,"}, calls()); diff != "" {
			t.Error(diff)
		}
	})
}

// guestImage is the image of a bench with a guest in it.
func (b *bench) guestImage() string {
	return b.fake.AddImage("guest:1", container.ImageConfig{User: "agent"}, map[string]string{
		"/hold": "", "/judge": "", "/guest": "", "/bin/sh": "", "/etc/passwd": "root:x:0:0::/:\nagent:x:1000:1001::/:\n",
		"/work/tests/hidden": "hidden", "/work/src/old": "old",
	}).ID
}

func TestWhatCannotBeRemovedIsNoZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.open("t")
		r := b.judgeOne(t, "t", gone("src/old"), file("src/answer", "a passed")).Report
		if r.Status != StatusInvalid || !strings.Contains(r.Problem, "no guest") {
			t.Errorf("%s (%s)", r.Status, r.Problem)
		}
	})
}
