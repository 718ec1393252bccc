package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/task"
)

// pythonBase is a real image with a shell, Git and Python.
const pythonBase = "assayd-base/python:1"

// builderOnDocker returns a Builder on a real engine; all that it makes is removed at the end.
func builderOnDocker(t *testing.T, hold []string, ts Trees) (*Builder, *docker.Engine, string) {
	t.Helper()
	dockertest.NotInShort(t)
	e, err := docker.New(t.Context(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	owner := "image-test-" + containertest.Unique()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		left, err := e.Observe(ctx, owner)
		for _, c := range left {
			t.Errorf("container %s is left behind", c.Name)
			err = errors.Join(err, e.Remove(ctx, c.ID))
		}
		made, listErr := e.ListImages(ctx, LabelImageOwner, owner)
		err = errors.Join(err, listErr)
		for _, img := range made {
			for _, ref := range img.Refs {
				err = errors.Join(err, e.RemoveImage(ctx, ref))
			}
		}
		if err = errors.Join(err, e.Close()); err != nil {
			t.Error(err)
		}
	})
	return New(Options{
		Engine: e, Trees: ts, Owner: owner, Hold: hold, CacheDir: t.TempDir(),
		MaxBuilds: 2, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}), e, owner
}

func needPython(t *testing.T, e *docker.Engine) {
	t.Helper()
	if _, err := e.Image(t.Context(), pythonBase); err != nil {
		t.Fatalf("this test needs Docker and the image %s (contrib/images/base python): %v", pythonBase, err)
	}
}

// in returns a function that runs a line of shell in a container of the image.
func in(t *testing.T, e *docker.Engine, owner string, img Built) func(line string) string {
	t.Helper()
	c, err := e.Start(t.Context(), container.Workload{
		Name: "assayd-" + owner + "-" + img.Role, Image: img.ID, Argv: []string{"sleep", "1h"}, Network: container.NetworkNone,
		User: img.Config.User, Workdir: img.Config.Workdir, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(context.WithoutCancel(t.Context()), c.ID); err != nil {
			t.Error(err)
		}
	})
	return func(line string) string {
		var out bytes.Buffer
		code, err := e.Exec(t.Context(), c.ID, container.Command{Argv: []string{"sh", "-c", line}, Stdout: &out, Stderr: &out})
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 {
			return fmt.Sprintf("exit %d: %s", code, out.String())
		}
		return strings.TrimSpace(out.String())
	}
}

func TestWorkAndJudgeImagesOfARepositoryOnDocker(t *testing.T) {
	h := gittest.MakeHistory(t)
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, trees{
		"skeleton": {"src/": "", "src/new.py": "pass\n"}, "hidden": {"tests/": "", "tests/test_b.py": "assert 1\n"},
	})
	needPython(t, e)
	tk := task.Task{
		Benchmark: "edge", Name: "Repo." + owner, Image: pythonBase, Workdir: "/srv/deep/workspace",
		Repo: &task.Repo{URL: h.Dir, Commit: h.Base},
		Work: task.Part{
			User: "agent", Env: map[string]string{"LEVEL": "1"},
			Context: task.Tree{Digest: "skeleton"}, Files: map[string]string{"bin/run.sh": "#!/bin/sh\necho ran $LEVEL\n"},
			Setup: []string{"useradd -m agent", "git rev-parse HEAD > head.txt; ln head.txt hard; ln -s head.txt soft; echo $LEVEL >> head.txt"},
		},
		Judge: task.Judge{Part: task.Part{
			User: "root", Context: task.Tree{Digest: "hidden"},
			Files: map[string]string{"tests/extra/x.txt": "x"},
			Setup: []string{"git status --porcelain > /opt/status", "rm head.txt"},
		}},
	}
	judge, err := b.Judge(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}

	sh := in(t, e, owner, work)
	h.CheckCut(t, func(args ...string) string {
		line := "git"
		for _, a := range args {
			line += " '" + a + "'"
		}
		if args[0] == "status" {
			line = "rm -rf bin src/new.py hard soft head.txt && " + line
		}
		return sh(line)
	})
	sh = in(t, e, owner+"-again", work)
	for line, want := range map[string]string{
		"whoami; pwd":                 "agent\n/srv/deep/workspace",
		"find . ! -user agent":        "",
		"stat -c %U:%G .":             "agent:agent",
		"stat -c %a /srv /srv/deep .": "755\n755\n755",
		"bin/run.sh":                  "ran 1",
		"cat head.txt":                h.Base + "\n1",
		"cat hard soft":               h.Base + "\n1\n" + h.Base + "\n1",
		"stat -c %h head.txt":         "2",
		"find / -path /proc -prune -o \\( -name 'test_b*' -o -name x.txt -o -name status -path '/opt/*' \\) -print 2>/dev/null || true": "",
		"echo new > src/b.txt && git -c user.name=a -c user.email=a commit -qam x && git log --oneline | wc -l":                         "3",
	} {
		if got := sh(line); got != want {
			t.Errorf("work image: %s: got %q, want %q", line, got, want)
		}
	}

	sh = in(t, e, owner, judge)
	for line, want := range map[string]string{
		"whoami":                     "root",
		"cat tests/test_b.py":        "assert 1",
		"cat tests/extra/x.txt":      "x",
		"test -e head.txt":           "exit 1: ",
		"grep -c tests /opt/status":  "1",
		"stat -c %U src/b.txt":       "agent",
		"stat -c %U tests/test_b.py": "root",
	} {
		if got := sh(line); got != want {
			t.Errorf("judge image: %s: got %q, want %q", line, got, want)
		}
	}
	img, err := e.Image(t.Context(), judge.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/bin/sh"}, img.Config.Cmd); diff != "" {
		t.Errorf("the build's own program is in the image: %s", diff)
	}
}

func TestABaseImageOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, nil)
	needPython(t, e)
	tk := task.Task{Benchmark: "edge", Name: "t" + owner, Workdir: "/w", Base: &task.Base{
		Name: owner, Image: pythonBase, User: "ENV GREETING=hello\nRUN useradd -m agent",
		PostInstall: "RUN echo $GREETING > /greeting\nUSER agent\nWORKDIR /home/agent/deep\nRUN id -un > /tmp/who",
	}}
	base, err := b.Base(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh := in(t, e, owner, base)
	if got := sh("cat /greeting /tmp/who; pwd"); got != "hello\nagent\n/home/agent/deep" {
		t.Errorf("got %q", got)
	}
}

func TestAnImageWithoutAShellOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"/probe", "sleep", "1h"}, trees{"skeleton": {"a.txt": "hello"}})
	ref := containertest.ProbeImage(t, e, owner)
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil {
			t.Error(err)
		}
	})
	tk := task.Task{
		Benchmark: "edge", Name: owner, Image: ref, Workdir: "/work",
		Work: task.Part{User: "agent", Context: task.Tree{Digest: "skeleton"}, Files: map[string]string{"d/b.txt": "b"}},
	}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Work(t.Context(), tk, nil)
	if err != nil || !again.Cached || again.ID != work.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	tk.Work.Setup = []string{"true"}
	if _, err := b.Work(t.Context(), tk, nil); !errors.Is(err, container.ErrCommandNotFound) {
		t.Errorf("setup without a shell: %v", err)
	}
	tk.Work.Setup, tk.Work.User = nil, "nobody-knows"
	if _, err := b.Work(t.Context(), tk, nil); err == nil || !strings.Contains(err.Error(), `user "nobody-knows" is not in /etc/passwd`) {
		t.Errorf("an unknown user: %v", err)
	}
}

func TestSecretsOfABuildOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, nil)
	needPython(t, e)
	b.opts.BuildSecrets = BuildSecrets{Secrets: map[string]string{"GIT_TOKEN": "tok-" + owner}, Mirrors: map[string]string{"go": "https://go.example"}}
	tk := task.Task{
		Benchmark: "edge", Name: owner, Image: pythonBase, Workdir: "/workspace",
		Work: task.Part{Setup: []string{`test "$GIT_TOKEN" = tok-` + "$(echo " + strings.TrimPrefix(owner, "i") + ` | sed s/^/i/) && echo used > used; echo $GOPROXY >> used`}},
	}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh := in(t, e, owner, work)
	if got := sh("cat used; env | grep -cE 'TOKEN|GOPROXY' || true"); got != "used\nhttps://go.example\n0" {
		t.Errorf("got %q", got)
	}
	tk.Work.Setup = []string{"mkdir -p /opt/x; echo $GIT_TOKEN > /opt/x/config; echo $GIT_TOKEN; true"}
	_, err = b.Work(t.Context(), tk, nil)
	if leak, ok := errors.AsType[*LeakError](err); !ok || leak.File != "/opt/x/config" || strings.Contains(err.Error(), "tok-") {
		t.Errorf("got %v", err)
	}
	tk.Work.Setup = []string{"echo with $GIT_TOKEN; exit 1"}
	if _, err = b.Work(t.Context(), tk, nil); err == nil || !strings.Contains(err.Error(), "| with ***") || strings.Contains(err.Error(), "tok-") {
		t.Errorf("got %v", err)
	}
}

// TestABuildIsBoundedOnDocker: what a repository runs while it is installed takes no more of the
// machine than it may.
func TestABuildIsBoundedOnDocker(t *testing.T) {
	t.Parallel()
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, nil)
	needPython(t, e)
	b.disk = 64 << 20
	tk := task.Task{Benchmark: "edge", Name: owner, Image: pythonBase, Workdir: "/workspace"}
	tk.Work.Setup = []string{"cd /sys/fs/cgroup; cat pids.max memory.max >/workspace/bounds || cat pids/pids.max memory/memory.limit_in_bytes >/workspace/bounds"}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	host, err := e.HostInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := int64(buildMemory*float64(host.Memory)) / 4096 * 4096 // whole pages
	if got, want := in(t, e, owner, work)("cat bounds"), fmt.Sprintf("%d\n%d", buildPIDs, most); got != want {
		t.Errorf("a build has %q, want %q", got, want)
	}
	tk.Work.Setup = []string{"echo begun; head -c 200000000 /dev/urandom >/big; sleep 1h"}
	_, err = b.Work(t.Context(), tk, nil)
	full, ok := errors.AsType[*container.DiskError](err)
	if !ok || full.Limit != 64<<20 || !strings.Contains(err.Error(), "setup[0] was ended: it used") || !strings.Contains(err.Error(), "64.0 MiB is the limit") {
		t.Errorf("a build that writes on ends with %v", err)
	}
	b.disk, b.opts.Scarce = 0, func() bool { return true }
	tk.Work.Setup = []string{"echo begun; head -c 1200000000 /dev/zero >/big; sleep 1h"}
	if _, err = b.Work(t.Context(), tk, nil); !errors.As(err, &full) || full.Limit != scarceDisk {
		t.Errorf("a build that writes on where the disk is scarce ends with %v", err)
	}
	b.opts.Scarce = nil
	tk.Work.Setup = []string{"kill -9 $$"}
	if _, err = b.Work(t.Context(), tk, nil); err == nil || !strings.Contains(err.Error(), "exit code 137 (it was killed") {
		t.Errorf("a build that is killed ends with %v", err)
	}
}
