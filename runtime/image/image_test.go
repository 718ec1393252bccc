package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

var errNoTree = errors.New("no such tree")

// trees is a Trees of files by digest.
type trees map[string]map[string]string

func (ts trees) Open(digest string) (io.ReadCloser, error) {
	files, ok := ts[digest]
	if !ok {
		return nil, errNoTree
	}
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name])), Uid: 77}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if err := errors.Join(tw.WriteHeader(h), second(tw.Write([]byte(files[name])))); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(&b), tw.Close()
}

func second(_ int, err error) error { return err }

// anywhere is a Copier for which every path exists and everything can be written.
type anywhere struct{}

func (anywhere) CopyTo(_ context.Context, _, _ string, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (anywhere) CopyFrom(context.Context, string, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

// shell stands in for /bin/sh in the fake: "touch F", "fail"; it counts what it runs.
type shell struct {
	mu  sync.Mutex
	ran []string
}

func (s *shell) exec(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
	line := cmd.Argv[len(cmd.Argv)-1]
	s.mu.Lock()
	s.ran = append(s.ran, line)
	s.mu.Unlock()
	if name, ok := strings.CutPrefix(line, "touch "); ok {
		c.WriteFile(name, nil)
	}
	if line == "fail" {
		return 2
	}
	return 0
}

// programs are the files of the base image.
var programs = map[string]string{"/hold": "", "/bin/sh": ""}

func builderOnFake(t *testing.T, ts trees) (*Builder, *containertest.Fake, *shell) {
	t.Helper()
	f := containertest.NewFake()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	sh := &shell{}
	f.HandleExec(sh.exec)
	f.Handle(func(ctx context.Context, _ *containertest.FakeContainer) int {
		<-ctx.Done()
		return 137
	})
	f.AddImage("python:1", container.ImageConfig{Env: map[string]string{"PATH": "/bin"}, Cmd: []string{"python"}}, programs)
	return New(Options{
		Engine: f, Trees: ts, Owner: "o1", Hold: []string{"/hold"}, CacheDir: t.TempDir(),
		MaxBuilds: 2, Log: slog.New(slog.DiscardHandler),
	}), f, sh
}

func someTask() task.Task {
	return task.Task{
		Benchmark: "edge", Name: "tree", Image: "python:1", Workdir: "/workspace",
		Work: task.Part{
			Context: task.Tree{Digest: "skeleton"}, Files: map[string]string{"bin/go.sh": "#!/bin/sh\n"},
			Setup: []string{"touch /workspace/made"}, Env: map[string]string{"LEVEL": "1"},
		},
		Judge: task.Judge{Part: task.Part{
			Context: task.Tree{Digest: "hidden"}, Files: map[string]string{"tests/more.py": "x", "/opt/grader": "y"},
			Setup: []string{"touch /opt/compiled"},
		}},
	}
}

var someTrees = trees{
	"skeleton": {"src/": "", "src/a.py": "pass\n"},
	"hidden":   {"./tests/": "", "./tests/test_a.py": "assert 1\n", "answers.txt": "42"},
}

// inImage lists the files of an image that is not the base.
func inImage(t *testing.T, f *containertest.Fake, id string) map[string]string {
	t.Helper()
	c, err := f.Start(t.Context(), container.Workload{Name: "look-" + id, Image: id, Argv: []string{"/hold"}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, top := range []string{"/workspace", "/opt"} {
		rc, err := f.CopyFrom(t.Context(), c.ID, top)
		if errors.Is(err, container.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(rc); ; {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				found[h.Name] = fmt.Sprintf("%o %d", h.Mode, h.Uid)
			}
		}
	}
	return found
}

func TestHiddenFilesAreInTheJudgeImageOnly(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	judge, err := b.Judge(t.Context(), someTask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	work, err := b.Work(t.Context(), someTask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !work.Cached || judge.Cached || judge.Parent != work.ID {
		t.Errorf("work %+v, judge %+v", work, judge)
	}
	inWork := map[string]string{"workspace/src/a.py": "644 0", "workspace/bin/go.sh": "755 0", "workspace/made": "644 0"}
	if diff := cmp.Diff(inWork, inImage(t, f, work.ID)); diff != "" {
		t.Error(diff)
	}
	inJudge := merge(inWork, map[string]string{
		"workspace/tests/test_a.py": "644 0", "workspace/answers.txt": "644 0", "workspace/tests/more.py": "644 0",
		"opt/grader": "644 0", "opt/compiled": "644 0",
	})
	if diff := cmp.Diff(inJudge, inImage(t, f, judge.ID)); diff != "" {
		t.Error(diff)
	}
}

func TestHiddenListsWhatTheJudgePutsIntoWorkdir(t *testing.T) {
	b, _, _ := builderOnFake(t, someTrees)
	tk := someTask()
	tk.Judge.Files["/workspace/abs.txt"] = ""
	tk.Private = &task.Private{Context: tk.Work.Context} // or any other tree
	got, err := b.Hidden(tk)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"abs.txt", "answers.txt", "src/a.py", "tests/more.py", "tests/test_a.py"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tk.Judge.Context.Digest = "gone"
	if _, err := b.Hidden(tk); !errors.Is(err, errNoTree) {
		t.Errorf("a missing tree: %v", err)
	}
}

func TestConfigurationAndLabelsOfImages(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	tk := someTask()
	tk.Judge.Env = map[string]string{"LEVEL": "2", "MODE": "strict"}
	judge, err := b.Judge(t.Context(), tk, map[string]string{container.LabelTrial: "nightly.e1.0"})
	if err != nil {
		t.Fatal(err)
	}
	img, err := f.Image(t.Context(), judge.Ref)
	if err != nil {
		t.Fatal(err)
	}
	want := container.ImageConfig{
		User: "0:0", Workdir: "/workspace", Cmd: []string{"python"},
		Env: map[string]string{"PATH": "/bin", "LEVEL": "2", "MODE": "strict"},
		Labels: map[string]string{
			LabelImageOwner: "o1", container.LabelRole: "judge",
			LabelRecipe: img.Config.Labels[LabelRecipe], LabelParent: judge.Parent, LabelName: "assayd-o1.judge:" + img.Config.Labels[LabelRecipe],
			// Emptied, so that no container inherits them.
			container.LabelOwner: "", container.LabelTrial: "", container.LabelHash: "",
		},
	}
	if diff := cmp.Diff(want, img.Config); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(judge.Ref, "edge.judge.tree:") || !strings.HasPrefix(want.Labels[LabelRecipe], judge.Ref[len("edge.judge.tree:"):]) {
		t.Errorf("ref %s, recipe %s", judge.Ref, want.Labels[LabelRecipe])
	}
	left, err := f.Observe(t.Context(), "o1")
	if err != nil || len(left) != 0 {
		t.Errorf("build containers are left: %v, %v", left, err)
	}
}

func TestWhatNeedsNoBuildIsTakenAsItIs(t *testing.T) {
	for _, c := range []struct {
		name string
		task task.Task
	}{
		{"nothing to add", task.Task{Image: "python:1", Workdir: "/w"}},
		{"images of their own", task.Task{
			Workdir: "/w",
			Work:    task.Part{Image: "python:1"}, Judge: task.Judge{Part: task.Part{Image: "python:1"}},
		}},
		{"a base without packages", task.Task{Workdir: "/w", Base: &task.Base{Name: "b", Image: "python:1"}}},
		{"root by name", task.Task{Image: "python:1", Workdir: "/w", Work: task.Part{User: "root"}}},
		{"another user of a ready-made image", task.Task{
			Workdir: "/w",
			Work:    task.Part{Image: "python:1", User: "agent"}, Judge: task.Judge{Part: task.Part{Image: "python:1"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _, sh := builderOnFake(t, nil)
			for _, make := range []func(context.Context, task.Task, map[string]string) (Built, error){b.Work, b.Judge} {
				got, err := make(t.Context(), c.task, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got.Ref != "python:1" || !got.Cached || got.Parent != "" || got.Config.Workdir != "/w" || len(sh.ran) != 0 {
					t.Errorf("got %+v, ran %q", got, sh.ran)
				}
			}
		})
	}
}

func TestImagesAreNamedAfterAllThatIsInThem(t *testing.T) {
	b, f, _ := builderOnFake(t, trees{"skeleton": {"a": ""}, "hidden": {"b": ""}, "other": {"c": ""}})
	refs := func(change func(*task.Task)) [2]string {
		t.Helper()
		tk := someTask()
		change(&tk)
		work, err := b.Work(t.Context(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		judge, err := b.Judge(t.Context(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		return [2]string{work.Ref, judge.Ref}
	}
	was := refs(func(*task.Task) {})
	if again := refs(func(tk *task.Task) { tk.Title, tk.Instruction = "t", "i" }); again != was {
		t.Errorf("a title changed %v to %v", was, again)
	}
	if now := refs(func(tk *task.Task) { tk.Judge.Setup = []string{"true"} }); now[0] != was[0] || now[1] == was[1] {
		t.Errorf("the judge's setup changed %v to %v", was, now)
	}
	if now := refs(func(tk *task.Task) { tk.Work.Context.Digest = "other" }); now[0] == was[0] || now[1] == was[1] {
		t.Errorf("the work context changed %v to %v", was, now)
	}
	f.AddImage("python:1", container.ImageConfig{}, programs)
	if now := refs(func(*task.Task) {}); now[0] == was[0] || now[1] == was[1] {
		t.Errorf("another parent changed %v to %v", was, now)
	}
}

func TestAnImageOfThatNameWithAnotherRecipeIsNotTaken(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	work, err := b.Work(t.Context(), someTask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.AddImage(work.Ref, container.ImageConfig{}, map[string]string{"/trojan": ""})
	again, err := b.Work(t.Context(), someTask(), nil)
	if err != nil || again.ID != work.ID || again.Ref != work.Ref {
		t.Errorf("got %+v, %v", again, err)
	}
	if img, err := f.Image(t.Context(), work.Ref); err != nil || img.ID != work.ID {
		t.Errorf("the name means %+v, %v", img, err)
	}
}

func TestManyWhoWantAnImageBuildItOnce(t *testing.T) {
	b, _, sh := builderOnFake(t, someTrees)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := b.Judge(t.Context(), someTask(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"touch /workspace/made", "touch /opt/compiled"}, sh.ran); diff != "" {
		t.Error(diff)
	}
}

func TestNoMoreBuildsAtOnceThanAllowed(t *testing.T) {
	b, f, _ := builderOnFake(t, nil)
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	f.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int {
		mu.Lock()
		running++
		if most = max(most, running); most == 2 && running == 2 {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // the first one waits until a second one runs, too
		mu.Lock()
		running--
		mu.Unlock()
		return 0
	})
	var wg sync.WaitGroup
	for i := range 6 {
		tk := task.Task{Benchmark: "b", Name: fmt.Sprint("t", i), Image: "python:1", Workdir: "/w", Work: task.Part{Setup: []string{fmt.Sprint("true ", i)}}}
		wg.Go(func() {
			if _, err := b.Work(t.Context(), tk, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 2 {
		t.Errorf("%d builds ran at once", most)
	}
}

func TestABuildThatFailsLeavesNothing(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	tk := someTask()
	tk.Work.Setup = []string{"true", "fail"}
	_, err := b.Work(t.Context(), tk, nil)
	var failed *SetupError
	if !errors.As(err, &failed) || failed.Index != 1 || failed.Role != container.RoleWork {
		t.Errorf("got %v", err)
	}
	if want := "build work image of edge/tree: setup[1] ended with exit code 2: fail"; err.Error() != want {
		t.Errorf("got %q", err)
	}
	if left, err := f.Observe(t.Context(), "o1"); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if made, err := f.ListImages(t.Context(), LabelImageOwner, "o1"); err != nil || len(made) != 0 {
		t.Errorf("made: %v, %v", made, err)
	}
}

func TestABuildThatACrashInterruptedStartsAgain(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	f.Intercept(func(call, _ string) error {
		if call == "Commit" || (call == "Remove" && len(sh.ran) > 0) {
			return container.ErrUnavailable // as good as dead
		}
		return nil
	})
	if _, err := b.Work(t.Context(), someTask(), nil); !container.Unavailable(err) {
		t.Fatalf("got %v", err)
	}
	left, err := f.Observe(t.Context(), "o1")
	if err != nil || len(left) != 1 || left[0].Labels[container.LabelRole] != container.RoleBuild {
		t.Fatalf("left: %+v, %v", left, err)
	}
	f.Intercept(nil)
	if _, err := b.Work(t.Context(), someTask(), nil); err != nil {
		t.Fatal(err)
	}
	if len(sh.ran) != 2 {
		t.Errorf("ran %q", sh.ran)
	}
	if left, err := f.Observe(t.Context(), "o1"); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestResolve(t *testing.T) {
	b, f, _ := builderOnFake(t, nil)
	b.opts.Nearest = func(given string, known []string) string {
		for _, name := range known {
			if strings.HasPrefix(name, given) {
				return name
			}
		}
		return ""
	}
	f.AddRemote("far:1", container.ImageConfig{}, nil)
	for _, c := range []struct{ ref, want string }{
		{"python:1", ""},
		{"far:1", ""},
		{"none:1", `image "none:1" is not on this machine, and pulling it did not work`},
		{"none:1", "; build it here under that name, with docker build -t none:1, or name another image"},
		{"assayd-base/java:1", "; make it with contrib/images/base java"},
		{"assayd-base/java", "; name assayd-base/java:1 in its place, which contrib/images/base java makes"},
		{"assayd-base/jav:1", "; name assayd-base/java:1 in its place, which contrib/images/base java makes"},
		{"assayd-base/cobol:1", `; contrib/images/base makes no "cobol", but these: python, go, `},
		{"sha256:" + strings.Repeat("0", 64), "an id cannot be pulled"},
	} {
		img, err := b.Resolve(t.Context(), c.ref, "")
		if c.want == "" && (err != nil || img.ID == "") {
			t.Errorf("%s: %+v, %v", c.ref, img, err)
		}
		if missing := (*MissingError)(nil); c.want != "" && (!errors.As(err, &missing) || !errors.Is(err, container.ErrNotFound) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.ref, err)
		}
	}
	f.SetDown(true)
	if _, err := b.Resolve(t.Context(), "python:1", ""); !container.Unavailable(err) {
		t.Errorf("an engine that is down: %v", err)
	}
}

func TestTargetsOfFiles(t *testing.T) {
	for _, c := range []struct{ target, want string }{
		{"a", "/w/a"},
		{"a/../b", "/w/b"},
		{"./x/y", "/w/x/y"},
		{"/etc/motd", "/etc/motd"},
		{"../a", ""},
		{"a/../../b", ""},
		{"", ""},
		{".", ""},
		{"a/", ""},
		{"/", ""},
		{"/proc/sys/x", ""},
		{"/etc/../dev/x", ""},
		{"/.assayd/bin/x", ""},
	} {
		got, err := place("/w", c.target)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v; want %q", c.target, got, err, c.want)
		}
	}
}

func TestTreesThatAreNotTrees(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../x", Typeflag: tar.TypeReg},
		{Name: "/etc/passwd", Typeflag: tar.TypeReg},
		{Name: "dev", Typeflag: tar.TypeChar},
		{Name: "l", Typeflag: tar.TypeLink, Linkname: "../../etc/shadow"},
	} {
		var buf bytes.Buffer
		tw := tar.NewWriter(&buf)
		if err := errors.Join(tw.WriteHeader(&h), tw.Close()); err != nil {
			t.Fatal(err)
		}
		b := New(Options{Trees: oneTree(buf.Bytes())})
		err := b.walk("d", func(*tar.Header, io.Reader) error { return nil })
		if err == nil {
			t.Errorf("%q was taken", h.Name)
		}
	}
}

type oneTree []byte

func (o oneTree) Open(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(o)), nil }

// TestTheBaseImagesAreThoseThatCanBeMade: what is advised is what the script takes.
func TestTheBaseImagesAreThoseThatCanBeMade(t *testing.T) {
	script, err := os.ReadFile("../../contrib/images/base")
	if err != nil {
		t.Fatal(err)
	}
	if taken := "\t" + strings.Join(bases, " | ") + `) make_image "$name" ;;`; !strings.Contains(string(script), taken) {
		t.Errorf("contrib/images/base has no line %q", taken)
	}
}
