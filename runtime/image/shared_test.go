package image

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/task"
)

// twoTasks are tasks of two benchmarks with one recipe for the work image, and hidden tests of
// their own.
func twoTasks() (one, two task.Task) {
	one, two = someTask(), someTask()
	two.Benchmark, two.Name, two.Instruction = "other", "two", "Another statement."
	one.Judge.Setup, two.Judge.Setup = []string{"touch /opt/one"}, []string{"touch /opt/two"}
	return one, two
}

// setups are the commands that builds ran, sorted.
func (s *shell) setups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.ran))
}

// sharing fails unless two tasks have one work image under a name of each, and two judge images.
func sharing(t *testing.T, b *Builder, one, two task.Task) {
	t.Helper()
	var judges, works [2]Built
	var wg sync.WaitGroup
	for i, tk := range []task.Task{one, two} {
		wg.Go(func() {
			var err, jerr error
			judges[i], jerr = b.Judge(t.Context(), tk, nil)
			works[i], err = b.Work(t.Context(), tk, nil)
			if err = errors.Join(err, jerr); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if works[0].ID != works[1].ID || judges[0].ID == judges[1].ID || judges[0].Parent != works[0].ID || judges[1].Parent != works[0].ID {
		t.Errorf("work images %+v, judge images %+v", works, judges)
	}
	for i, tk := range []task.Task{one, two} {
		img, err := b.images.Image(t.Context(), works[i].Ref)
		if err != nil || img.ID != works[0].ID || !strings.HasPrefix(works[i].Ref, tk.Benchmark+".work."+tk.Name+":") {
			t.Errorf("%s is %+v, %v", works[i].Ref, img, err)
		}
	}
}

func TestTasksWithOneRecipeShareTheWorkImage(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	sharing(t, b, one, two)
	once := []string{"touch /opt/one", "touch /opt/two", "touch /workspace/made"}
	if diff := cmp.Diff(once, sh.setups()); diff != "" {
		t.Error(diff)
	}
	// A later daemon finds them, and a third task, whose judge is the second one's, needs no build.
	again := New(b.opts)
	three := two
	three.Benchmark, three.Name = "third", "three"
	sharing(t, again, one, two)
	judge, err := again.Judge(t.Context(), three, nil)
	if err != nil || !judge.Cached || judge.Seconds != 0 || !strings.HasPrefix(judge.Ref, "third.judge.three:") {
		t.Errorf("the third judge image is %+v, %v", judge, err)
	}
	if diff := cmp.Diff(once, sh.setups()); diff != "" {
		t.Error(diff)
	}
	// What all who share it see of it names none of them.
	for _, img := range []string{judge.ID, judge.Parent} {
		shown, err := f.Image(t.Context(), img)
		if err != nil {
			t.Fatal(err)
		}
		told := fmt.Sprint(shown.Config, inImage(t, f, img))
		for _, word := range []string{"edge", "tree", "other", "three", "statement"} {
			if strings.Contains(told, word) {
				t.Errorf("a shared image tells of %q: %s", word, told)
			}
		}
	}
}

func TestOnlyEqualRecipesShareAnImage(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*task.Task)
	}{
		{"a blank at the end of a command", func(tk *task.Task) { tk.Work.Setup = []string{"touch /workspace/made "} }},
		{"a line end at the end of a command", func(tk *task.Task) { tk.Work.Setup = []string{"touch /workspace/made\n"} }},
		{"two commands for one", func(tk *task.Task) { tk.Work.Setup = []string{"touch", "/workspace/made"} }},
		{"a variable", func(tk *task.Task) { tk.Work.Env = map[string]string{"LEVEL": "2"} }},
		{"a variable more", func(tk *task.Task) { tk.Work.Env = map[string]string{"LEVEL": "1", "x": ""} }},
		{"a file", func(tk *task.Task) { tk.Work.Files = map[string]string{"bin/go.sh": "#!/bin/sh\n\n"} }},
		{"a folder of files, in which a mode may be all that differs", func(tk *task.Task) { tk.Work.Context.Digest = "hidden" }},
		{"the user", func(tk *task.Task) { tk.Work.User = "0:0" }},
		{"the working folder", func(tk *task.Task) { tk.Workdir = "/workspace2" }},
		{"where commands begin", func(tk *task.Task) { tk.Work.AtHome = true }},
		{"trust", func(tk *task.Task) { tk.Untrusted = true }},
		{"the image it begins with", func(tk *task.Task) { tk.Image = "python:2" }},
		{"a repository", func(tk *task.Task) { tk.Repo = &task.Repo{URL: "https://a.example/x/y", Commit: "1"} }},
	} {
		one, two := someTask(), someTask()
		two.Name = "two"
		c.change(&two)
		shared := func(tk task.Task) string {
			r := partRecipe(container.RoleWork, tk, tk.Work)
			r.Repo, r.Parent = tk.Repo, tk.Image
			return r.shared()
		}
		if shared(one) == shared(two) {
			t.Errorf("%s makes no difference", c.name)
		}
	}
}

func TestThePlatformThatADockerfileKnowsIsPartOfItsRecipe(t *testing.T) {
	b, _, sh := builderOnFake(t, nil)
	one := task.Task{Benchmark: "edge", Name: "one", Workdir: "/w", Work: task.Part{Dockerfile: "FROM python:1\nARG TARGETARCH\nRUN echo $TARGETARCH"}}
	two := one
	two.Name, two.Platform = "two", "linux/riscv64"
	for _, tk := range []task.Task{one, two} {
		if _, err := b.Work(t.Context(), tk, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(sh.ran) != 2 {
		t.Errorf("ran %q", sh.ran)
	}
}

func TestAFailedBuildNamesTheTaskThatAsked(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	one.Work.Setup, two.Work.Setup = []string{"fail"}, []string{"fail"}
	both, started := make(chan struct{}), make(chan struct{}, 2)
	f.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		started <- struct{}{}
		<-both
		return sh.exec(ctx, c, cmd)
	})
	errs := make(chan error, 2)
	ask := func(tk task.Task) {
		_, err := b.Work(t.Context(), tk, nil)
		if want := "build work image of " + tk.Benchmark + "/" + tk.Name + ": setup[0] ended with exit code 2: fail"; err == nil || err.Error() != want {
			err = fmt.Errorf("got %w, want %s", err, want)
		} else {
			err = nil
		}
		errs <- err
	}
	go ask(one)
	<-started
	go ask(two)
	for b.waiting() < 2 {
		runtime.Gosched()
	}
	close(both)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(sh.ran) != 1 {
		t.Errorf("ran %q", sh.ran)
	}
	// The failure is nobody's image: who asks again has it built again.
	one.Work.Setup, two.Work.Setup = []string{"true"}, []string{"true"}
	f.HandleExec(sh.exec)
	sharing(t, b, one, two)
}

func TestATaskThatIsCancelledDoesNotEndTheBuildOfAnother(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	let, started := make(chan struct{}), make(chan struct{}, 1)
	f.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		started <- struct{}{}
		select {
		case <-let:
			return sh.exec(ctx, c, cmd)
		case <-ctx.Done():
			return 137
		}
	})
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone, built := make(chan error, 1), make(chan Built, 1)
	go func() {
		_, err := b.Work(cancelled, one, map[string]string{container.LabelTrial: "one"})
		gone <- err
	}()
	<-started
	go func() {
		got, err := b.Work(t.Context(), two, map[string]string{container.LabelTrial: "two"})
		if err != nil {
			t.Error(err)
		}
		built <- got
	}()
	for b.waiting() < 2 {
		runtime.Gosched()
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled task got %v", err)
	}
	close(let)
	if got := <-built; !strings.HasPrefix(got.Ref, "other.work.two:") {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"touch /workspace/made"}, sh.setups()); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageThatACrashLeftWithoutATasksNameIsFound(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	f.Intercept(func(call, _ string) error {
		if call == "Tag" {
			return container.ErrUnavailable // as good as dead
		}
		return nil
	})
	if _, err := b.Work(t.Context(), one, nil); !container.Unavailable(err) {
		t.Fatalf("got %v", err)
	}
	f.Intercept(nil)
	b = New(b.opts)
	sharing(t, b, two, one)
	if diff := cmp.Diff([]string{"touch /opt/one", "touch /opt/two", "touch /workspace/made"}, sh.setups()); diff != "" {
		t.Error(diff)
	}
}

// waiting is how many callers wait for builds.
func (b *Builder) waiting() (n int) {
	b.builds.mu.Lock()
	defer b.builds.mu.Unlock()
	for _, f := range b.builds.m {
		n += f.waiting
	}
	return n
}

func TestAnImageThatOnlyClaimsToBeSharedIsNotTaken(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	work, err := b.Work(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.AddImage(work.Config.Labels[LabelName], container.ImageConfig{}, map[string]string{"/trojan": ""})
	sh.ran = nil
	again, err := b.Work(t.Context(), two, nil)
	if err != nil || again.Cached || again.ID == work.ID || len(sh.ran) != 1 {
		t.Errorf("got %+v, %v; ran %q", again, err, sh.ran)
	}
	// Nor does a label make an image of somebody else the one of a recipe.
	f.AddImage("evil/image:1", work.Config, map[string]string{"/trojan": ""})
	b, f, sh = builderOnFake(t, someTrees)
	f.AddImage("evil/image:1", work.Config, map[string]string{"/trojan": ""})
	if work, err = b.Work(t.Context(), one, nil); err != nil || work.Cached || len(sh.ran) != 1 {
		t.Errorf("got %+v, %v; ran %q", work, err, sh.ran)
	}
}

// Another owner removes its images when it likes.
func TestAnImageIsSharedWithNoOtherOwner(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	one, two := twoTasks()
	work, err := b.Work(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.Owner = "o2"
	other := New(o)
	// The same task has the image, as its name says all that is in it, but no other task has.
	if same, err := other.Work(t.Context(), one, nil); err != nil || same.ID != work.ID {
		t.Errorf("got %+v, %v", same, err)
	}
	own, err := other.Work(t.Context(), two, nil)
	if err != nil || own.ID == work.ID || len(sh.ran) != 2 {
		t.Errorf("got %+v, %v; ran %q", own, err, sh.ran)
	}
	if _, err := b.Collect(t.Context(), Garbage{Before: time.Now().Add(time.Hour), Used: func(string) time.Time { return time.Time{} }}); err != nil {
		t.Error(err)
	}
	if _, err := f.Image(t.Context(), own.Ref); err != nil {
		t.Error(err)
	}
}

// A task of strangers may name any image of this machine as the one that it begins with.
func TestNoAgentWorksInAnImageThatWasMadeForAJudge(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	one, _ := twoTasks()
	judge, err := b.Judge(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	img, err := f.Image(t.Context(), judge.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range append(img.Refs, img.ID) {
		for name, tk := range map[string]task.Task{
			"image":      {Image: ref},
			"work.image": {Work: task.Part{Image: ref}},
			"setup":      {Image: ref, Work: task.Part{Setup: []string{"true"}}},
			"base":       {Base: &task.Base{Name: "b", Image: ref, PostInstall: "RUN true"}},
			"dockerfile": {Work: task.Part{Dockerfile: "FROM " + ref}},
		} {
			tk.Benchmark, tk.Name, tk.Workdir = "evil", name, "/w"
			_, err := b.Work(t.Context(), tk, nil)
			if failed, ok := errors.AsType[*SetupError](err); !ok || !strings.Contains(err.Error(), "was made for a judge and may hold hidden tests, which no agent may see") {
				t.Errorf("%s %s: %+v, %v", name, ref, failed, err)
			}
			if ids, err := b.Present(t.Context(), tk); err != nil || len(ids) != 0 {
				t.Errorf("%s %s keeps others from being collected: %v, %v", name, ref, ids, err)
			}
		}
	}
}

func TestASharedImageStaysWhileOneTaskNeedsIt(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	one, two := twoTasks()
	work, err := b.Work(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	collect := func(needs []task.Task, used map[string]time.Time, before time.Time) (names []string) {
		t.Helper()
		g := Garbage{Needed: map[string]bool{}, Before: before, Used: func(ref string) time.Time { return used[ref] }}
		for _, tk := range needs {
			ids, err := b.Present(t.Context(), tk)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				g.Needed[id] = true
			}
		}
		gone, err := b.Collect(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range gone {
			names = append(names, one.Name)
		}
		return names
	}
	late := time.Now().Add(time.Hour)
	// The second task has not asked for it yet.
	if gone := collect([]task.Task{two}, nil, late); len(gone) > 0 {
		t.Errorf("%q went", gone)
	}
	if img, err := f.Image(t.Context(), work.ID); err != nil || len(img.Refs) != 2 {
		t.Errorf("to look gave a name: %q, %v", img.Refs, err)
	}
	second, err := b.Work(t.Context(), two, nil)
	if err != nil || second.ID != work.ID {
		t.Fatalf("got %+v, %v", second, err)
	}
	if gone := collect(nil, map[string]time.Time{second.Ref: late}, late); len(gone) > 0 {
		t.Errorf("%q went, which the second task used of late", gone)
	}
	// A container of the one task keeps it for both.
	c, err := f.Start(t.Context(), container.Workload{Name: "user", Image: work.ID, Argv: []string{"/hold"}})
	if err != nil {
		t.Fatal(err)
	}
	if gone := collect(nil, nil, late); len(gone) > 0 {
		t.Errorf("%q went, from which a container was made", gone)
	}
	if img, err := f.Image(t.Context(), second.Ref); err != nil || img.ID != work.ID || len(img.Refs) != 3 {
		t.Errorf("it has the names %q: %v", img.Refs, err)
	}
	if err := f.Remove(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	// Also one that lost the name that all share, as to another state directory's build, is ours.
	f.AddImage(work.Config.Labels[LabelName], container.ImageConfig{}, nil)
	if diff := cmp.Diff([]string{work.Ref}, collect(nil, nil, late)); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Image(t.Context(), work.ID); !errors.Is(err, container.ErrNotFound) {
		t.Errorf("the image is left: %v", err)
	}
}

func TestAnImageThatAnotherTaskHadBuiltIsPushedUnderItsOwnName(t *testing.T) {
	b, _, _ := builderOnFake(t, someTrees)
	b.opts.Registry = "r.example"
	one, two := twoTasks()
	two.Judge = one.Judge
	want := []string{"work built edge.work.tree", "judge built edge.judge.tree"}
	if diff := cmp.Diff(want, told(t, b, Build, one)); diff != "" {
		t.Error(diff)
	}
	want = []string{"work pushed r.example/other.work.two", "judge pushed r.example/other.judge.two"}
	if diff := cmp.Diff(want, told(t, b, Push, two)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"work cached other.work.two", "judge cached other.judge.two"}, told(t, b, Pull, two)); diff != "" {
		t.Error(diff)
	}
}

func TestASharedWorkImageOnDocker(t *testing.T) {
	h := gittest.MakeHistory(t)
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, trees{"one": {"tests/test_one.py": "assert 1\n"}, "two": {"tests/test_two.py": "assert 2\n"}})
	needPython(t, e)
	one := task.Task{
		Benchmark: "edge", Name: "one." + owner, Image: pythonBase, Workdir: "/testbed", Repo: &task.Repo{URL: h.Dir, Commit: h.Base},
		// What an install script can see tells it for which task it runs as little as what it is given.
		Work:  task.Part{Setup: []string{"date +%s%N >/installed; (env; cat /etc/hosts /etc/hostname /proc/*/cmdline /proc/self/mountinfo /proc/self/cgroup) >/seen"}},
		Judge: task.Judge{Part: task.Part{Context: task.Tree{Digest: "one"}}},
	}
	two := one
	two.Benchmark, two.Name, two.Judge.Context.Digest = "other", "two."+owner, "two"
	ids, installed := map[string]bool{}, map[string]bool{}
	for _, tk := range []task.Task{one, two} {
		judge, err := b.Judge(t.Context(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		work, err := New(b.opts).Work(t.Context(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		img, err := e.Image(t.Context(), work.Ref)
		if err != nil || judge.Parent != img.ID {
			t.Fatalf("work image %+v of judge image %+v: %v", img, judge, err)
		}
		ids[img.ID] = true
		sh := in(t, e, owner+"-"+tk.Benchmark, judge)
		installed[sh("cat /installed")] = true
		if got, want := sh("ls tests"), "test_"+tk.Judge.Context.Digest+".py"; got != want {
			t.Errorf("the judge of %s has %s", tk.Name, got)
		}
		if seen := sh("cat /seen"); strings.Contains(seen, owner) || strings.Contains(seen, tk.Benchmark) || !strings.Contains(seen, "PATH=") {
			t.Errorf("the build was told of its task:\n%s", seen)
		}
	}
	if len(ids) != 1 || len(installed) != 1 {
		t.Errorf("the work images are %v, made at %v", ids, installed)
	}
	for id := range ids {
		sharedOnDocker(t, e, owner, id)
	}
}

// sharedOnDocker checks the names of an image that two tasks have.
func sharedOnDocker(t *testing.T, e *docker.Engine, owner, id string) {
	t.Helper()
	img, err := e.Image(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, ref := range img.Refs {
		kind, _, _ := strings.Cut(ref, ".work.")
		kind, _, _ = strings.Cut(kind, ".work:")
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"assayd-" + component(owner, plainName), "edge", "other"}, kinds); diff != "" {
		t.Error(diff)
	}
}
