package image

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

// fixedTask is a task of a format that fixes the names of its images.
func fixedTask() task.Task {
	return task.Task{
		Benchmark: "demo", Name: "t1", Workdir: "/home/workspace/p",
		Base: &task.Base{Name: "python", Image: "python:1", Packages: []string{"git"}, Ref: "demo.base.python:3aacb6cdfc27"},
		Work: task.Part{
			Files: map[string]string{"/tmp/setup_workspace.sh": "touch a"},
			Setup: []string{"/bin/bash /tmp/setup_workspace.sh"}, AtHome: true, Ref: "demo.work.t1:9e86bd086a93",
			User: "agent", Env: map[string]string{"LEVEL": "1"},
		},
		Judge: task.Judge{FromBase: true, Part: task.Part{
			Files: map[string]string{"/tmp/setup_judge.sh": "touch b"},
			Setup: []string{"/bin/bash /tmp/setup_judge.sh"}, AtHome: true, Ref: "demo.judge.t1:cd87a10aa82b",
		}},
	}
}

func TestImagesHaveTheNamesThatTheFormatFixes(t *testing.T) {
	b, f, sh := builderOnFake(t, nil)
	f.AddImage("python:1", container.ImageConfig{}, merge(programs, map[string]string{
		"/etc/passwd": "agent:x:1000:1000::/home/agent:/bin/sh\n", "/usr/bin/apt-get": "",
	}))
	tk := fixedTask()
	refs := func() (refs, parents []string, cached bool) {
		t.Helper()
		cached = true
		for _, make := range []func(context.Context, task.Task, map[string]string) (Built, error){b.Base, b.Work, b.Judge} {
			got, err := make(t.Context(), tk, nil)
			if err != nil {
				t.Fatal(err)
			}
			refs, parents, cached = append(refs, got.Ref), append(parents, got.Parent), cached && got.Cached
		}
		return refs, parents, cached
	}
	names := []string{"demo.base.python:3aacb6cdfc27", "demo.work.t1:9e86bd086a93", "demo.judge.t1:cd87a10aa82b"}
	got, parents, _ := refs()
	if diff := cmp.Diff(names, got); diff != "" {
		t.Error(diff)
	}
	base, err := f.Image(t.Context(), names[0])
	if err != nil || parents[1] != base.ID || parents[2] != base.ID {
		t.Errorf("parents %q, base %s, %v", parents, base.ID, err)
	}
	ran := len(sh.ran)
	got, _, cached := refs()
	if diff := cmp.Diff(names, got); diff != "" || !cached || len(sh.ran) != ran {
		t.Errorf("again: cached %t, ran %q %s", cached, sh.ran[ran:], diff)
	}
}

func TestAnImageOfAFixedNameIsTakenAsItIs(t *testing.T) {
	b, f, sh := builderOnFake(t, nil)
	tk := fixedTask()
	tk.Base.Image = "official:gone" // on no machine
	for _, ref := range []string{tk.Base.Ref, tk.Work.Ref, tk.Judge.Ref} {
		f.AddImage(ref, container.ImageConfig{User: "prebuilt", Workdir: "/elsewhere"}, nil)
	}
	for _, c := range []struct {
		make func(context.Context, task.Task, map[string]string) (Built, error)
		ref  string
		want container.ImageConfig
	}{
		{b.Base, tk.Base.Ref, container.ImageConfig{User: "prebuilt", Workdir: "/elsewhere"}},
		{b.Work, tk.Work.Ref, container.ImageConfig{User: "agent", Workdir: tk.Workdir, Env: map[string]string{"LEVEL": "1"}}},
		{b.Judge, tk.Judge.Ref, container.ImageConfig{User: "prebuilt", Workdir: tk.Workdir}},
	} {
		got, err := c.make(t.Context(), tk, nil)
		if err != nil || got.Ref != c.ref || !got.Cached || len(sh.ran) > 0 {
			t.Errorf("%s: %+v, %v; ran %q", c.ref, got, err, sh.ran)
		}
		if diff := cmp.Diff(c.want, got.Config); diff != "" {
			t.Errorf("%s: %s", c.ref, diff)
		}
	}
}

func TestAJudgeImageFromTheBaseHasNothingOfTheWorkPart(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	tk := someTask()
	tk.Work.User, tk.Judge.FromBase = "agent", true
	judge, err := b.Judge(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := f.Image(t.Context(), "python:1")
	if err != nil {
		t.Fatal(err)
	}
	if judge.Parent != base.ID || judge.Config.User != "0:0" || judge.Config.Env["LEVEL"] != "" {
		t.Errorf("got %+v", judge)
	}
	if diff := cmp.Diff([]string{"touch /opt/compiled"}, sh.ran); diff != "" {
		t.Error(diff)
	}
	for name := range inImage(t, f, judge.ID) {
		if strings.Contains(name, "src/") || strings.Contains(name, "bin/") {
			t.Errorf("%s is in the judge image", name)
		}
	}
}

func TestARecipeThatSetsItselfUpOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, nil)
	needPython(t, e)
	home := "demo.base." + owner + ":1"
	tk := task.Task{
		Benchmark: "demo", Name: owner, Workdir: "/srv/ws/p",
		Base: &task.Base{
			Name: owner, Image: pythonBase, Ref: home,
			PostInstall: "RUN useradd -m -s /bin/bash agent\nWORKDIR /opt/here",
		},
		Work: task.Part{
			AtHome: true, User: "agent", Ref: "demo.work." + owner + ":1",
			Files: map[string]string{"/tmp/setup_workspace.sh": "pwd > /opt/where\ntest ! -e /srv/ws/p\ngit init -q /srv/ws/p\necho x > /srv/ws/p/a\nln -s a /srv/ws/p/l\n"},
			Setup: []string{"/bin/bash -e /tmp/setup_workspace.sh", "chown -R agent:agent /srv/ws/p"},
		},
		Judge: task.Judge{FromBase: true, Part: task.Part{
			AtHome: true, Ref: "demo.judge." + owner + ":1", User: "agent",
			Setup: []string{"true"}, // leaves workdir to be made
		}},
	}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := b.Judge(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh := in(t, e, owner, work)
	for line, want := range map[string]string{
		"cat /opt/where":                      "/opt/here",
		"whoami; pwd":                         "agent\n/srv/ws/p",
		"find . ! -user agent":                "",
		"echo y >> l; cat a":                  "x\ny",
		"stat -c %U:%G . .git a":              "agent:agent\nagent:agent\nagent:agent",
		"test -e /tmp/setup_workspace.sh":     "",
		"git add a && git status --porcelain": "A  a\n?? l",
	} {
		if got := sh(line); got != want {
			t.Errorf("work image: %s: got %q, want %q", line, got, want)
		}
	}
	sh = in(t, e, owner, judge)
	if got := sh("whoami; pwd; stat -c %U .; ls -A . /tmp"); got != "agent\n/srv/ws/p\nagent\n.:\n\n/tmp:" {
		t.Errorf("judge image: %q", got)
	}
	again := New(Options{Engine: e, Owner: "another-" + containertest.Unique(), Log: b.opts.Log})
	tk.Base.Image = "nowhere.invalid/python:1"
	if got, err := again.Judge(t.Context(), tk, nil); err != nil || !got.Cached || got.ID != judge.ID {
		t.Errorf("again: %+v, %v", got, err)
	}
}
