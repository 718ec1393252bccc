package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

// lent is what the tests lend.
var lent = BuildSecrets{
	Secrets: map[string]string{"SFORGE_GIT_TOKEN": "s3cr3t/token\n", "SFORGE_GIT_USER": "bot"},
	Mirrors: map[string]string{
		"apt": "https://mirror.example/", "pip": "https://pip.example", "npm": "https://npm.example",
		"go": "https://go.example", "maven": "https://maven.example",
	},
	Proxy: "http://proxy.example:3128",
}

var lentEnv = map[string]string{
	"PIP_INDEX_URL": "https://pip.example", "npm_config_registry": "https://npm.example", "GOPROXY": "https://go.example",
	"MAVEN_MIRROR_URL": "https://maven.example", "http_proxy": "http://proxy.example:3128", "https_proxy": "http://proxy.example:3128",
	"HTTP_PROXY": "http://proxy.example:3128", "HTTPS_PROXY": "http://proxy.example:3128",
}

func TestWhatIsLentIsForCommandsAlone(t *testing.T) {
	tk := fixedTask()
	tk.Base.Ref, tk.Work.Ref, tk.Judge.Ref, tk.Work.User = "", "", "", "" // so that names tell of recipes
	tk.Base.PipPackages, tk.Base.PostInstall = []string{"pytest"}, "RUN make"
	tk.Work.Env["GOPROXY"] = "https://own.example"
	build := func(l BuildSecrets) (images []Built, ran map[string]map[string]string) {
		t.Helper()
		b, f, _ := builderOnFake(t, nil)
		b.opts.BuildSecrets = l
		ran = map[string]map[string]string{}
		f.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, c container.Command) int {
			ran[c.Argv[len(c.Argv)-1]] = c.Env
			return 0
		})
		f.AddImage("python:1", container.ImageConfig{}, merge(programs, map[string]string{"/usr/bin/apt-get": "", "/usr/bin/python3": ""}))
		for _, make := range []func(context.Context, task.Task, map[string]string) (Built, error){b.Base, b.Work, b.Judge} {
			got, err := make(t.Context(), tk, nil)
			if err != nil {
				t.Fatal(err)
			}
			img, err := f.Image(t.Context(), got.Ref)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []map[string]string{img.Config.Env, img.Config.Labels} {
				if text := fmt.Sprint(at); strings.Contains(text, "s3cr3t") || strings.Contains(text, "pip.example") || strings.Contains(text, "proxy.example") {
					t.Errorf("%s is configured with what was lent: %s", got.Ref, text)
				}
			}
			images = append(images, got)
		}
		return images, ran
	}
	with, ran := build(lent)
	without, _ := build(BuildSecrets{})
	for i := range with {
		if with[i].Ref == "" || with[i].Role != without[i].Role || i == 0 && with[i].Ref != without[i].Ref {
			t.Errorf("what is lent changed a name: %s, %s", with[i].Ref, without[i].Ref)
		}
	}
	secrets := lent.Secrets
	for line, want := range map[string]map[string]string{
		"git":                               lentEnv, // of apt-get install
		"pytest":                            lentEnv,
		"make":                              lentEnv,
		"/bin/bash /tmp/setup_workspace.sh": merge(merge(lentEnv, secrets), map[string]string{"GOPROXY": "https://own.example", "LEVEL": "1"}),
		"/bin/bash /tmp/setup_judge.sh":     merge(lentEnv, secrets),
	} {
		got := ran[line]
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: %s is %q, want %q", line, k, got[k], v)
			}
		}
		if _, has := got["SFORGE_GIT_TOKEN"]; has != (want["SFORGE_GIT_TOKEN"] != "") {
			t.Errorf("%s: the secret is there: %t", line, has)
		}
	}
}

// What nobody has looked at is lent no secret, nor is what is called in an image that it made.
func TestWhatIsUntrustedIsLentNoSecret(t *testing.T) {
	for _, untrusted := range []bool{false, true} {
		t.Run(fmt.Sprint(untrusted), func(t *testing.T) {
			b, f, _ := builderOnFake(t, nil)
			b.opts.BuildSecrets = lent
			ran := map[string]map[string]string{}
			f.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, c container.Command) int {
				ran[c.Argv[len(c.Argv)-1]] = c.Env
				return 0
			})
			tk := task.Task{Benchmark: "b", Name: "t", Image: "python:1", Workdir: "/w", Untrusted: untrusted}
			tk.Work.Setup, tk.Judge.Setup = []string{"of work"}, []string{"of judge"}
			work, err := b.Work(t.Context(), tk, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Judge(t.Context(), tk, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Equip(t.Context(), work, tk, Equipment{Agent: "a", Setup: []string{"of the agent"}}, nil); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{"of work", "of judge", "of the agent"} {
				env, done := ran[line]
				if !done || env["PIP_INDEX_URL"] != lentEnv["PIP_INDEX_URL"] || env["HTTP_PROXY"] != lentEnv["HTTP_PROXY"] {
					t.Errorf("%s: ran %t, without what everybody is lent: %v", line, done, env)
				}
				for name := range lent.Secrets {
					if _, has := env[name]; has == untrusted {
						t.Errorf("%s: %s is there: %t", line, name, has)
					}
				}
			}
		})
	}
}

func TestASecretThatIsLeftInTheImageEndsTheBuild(t *testing.T) {
	for _, c := range []struct{ name, file, content, want string }{
		{"in a clone's configuration", "/workspace/p/.git/config", "url = https://bot:s3cr3t/token@host/x", "/workspace/p/.git/config"},
		{"anywhere", "/usr/lib/python3/direct_url.json", "x s3cr3t/token", "/usr/lib/python3/direct_url.json"},
		{"escaped as in an address", "/root/.netrc", "s3cr3t%2Ftoken", "/root/.netrc"},
		{"in a name", "/workspace/s3cr3t/token", "", "/workspace/***"},
		{"a short one is everywhere", "/etc/passwd", "bot:x:1:1::/:/bin/sh", ""},
		{"nothing", "/workspace/a", "s3cr3t token", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f, _ := builderOnFake(t, nil)
			b.opts.BuildSecrets = lent
			f.HandleExec(func(_ context.Context, at *containertest.FakeContainer, _ container.Command) int {
				at.WriteFile(c.file, []byte(c.content))
				return 0
			})
			_, err := b.Work(t.Context(), task.Task{Image: "python:1", Workdir: "/workspace", Work: task.Part{Setup: []string{"clone"}}}, nil)
			leak, found := errors.AsType[*LeakError](err)
			if _, ok := errors.AsType[*SetupError](err); ok != found {
				t.Errorf("who must mend it is not told: %v", err)
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!found || leak.File != c.want || strings.Contains(err.Error(), "s3cr3t")):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSecretsAreFoundAcrossReads(t *testing.T) {
	forms := [][]byte{[]byte("abcdefgh"), []byte("xyz")}
	for _, c := range []struct {
		text string
		want bool
	}{
		{strings.Repeat("-", 64<<10) + "abcdefgh", true},
		{strings.Repeat("-", 64<<10-3) + "abcdefgh", true},
		{strings.Repeat("-", 64<<10+7) + "xyz-", true},
		{strings.Repeat("abcdefg-", 40<<10), false},
		{"", false},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.text), "bytes": iotest.OneByteReader(strings.NewReader(c.text[max(0, len(c.text)-100):]))} {
			if got, err := holds(r, forms); got != c.want || err != nil {
				t.Errorf("%s of %d bytes: %t, %v", name, len(c.text), got, err)
			}
		}
	}
}

func TestOutputNeverShowsASecret(t *testing.T) {
	s := siteWith(func(_ context.Context, c container.Command) (int, error) {
		fmt.Fprintf(c.Stdout, "cloning https://bot:%s@host\nthe to", "s3cr3t/token")
		fmt.Fprintf(c.Stderr, "ken is s3cr")
		fmt.Fprintf(c.Stderr, "3t/token or s3cr3t%%2Ftoken\n")
		return 1, nil
	}, recipe{Setup: []string{"clone"}})
	s.b.opts.BuildSecrets = BuildSecrets{Secrets: map[string]string{"T": "s3cr3t/token\n"}}
	failed, ok := errors.AsType[*SetupError](s.setup(t.Context()))
	if want := "cloning https://bot:***@host\nthe token is *** or ***"; !ok || failed.Output != want {
		t.Errorf("got %+v", failed)
	}
}

// A mirror or a proxy may want a password, and whoever uses it may tell where it went.
func TestAPasswordOfAMirrorIsASecret(t *testing.T) {
	l := BuildSecrets{
		Mirrors: map[string]string{"pip": "https://bot:m1rr0r%2Fword@pip.example/simple", "npm": "https://npm.example", "go": "::no address"},
		Proxy:   "http://bot:pr0xyword@proxy.example:3128",
	}
	const said = "m1rr0r%2Fword m1rr0r/word pr0xyword bot pip.example"
	s := siteWith(func(_ context.Context, c container.Command) (int, error) {
		_, err := io.WriteString(c.Stdout, said)
		return 1, err
	}, recipe{Setup: []string{"install"}})
	s.b.opts.BuildSecrets = l
	failed, ok := errors.AsType[*SetupError](s.setup(t.Context()))
	if want := "*** *** *** bot pip.example"; !ok || failed.Output != want {
		t.Errorf("it shows %q", failed.Output)
	}
	for name, makeImage := range map[string]func(*Builder, task.Task) (Built, error){
		"base": func(b *Builder, tk task.Task) (Built, error) { return b.Base(t.Context(), tk, nil) },
		"work": func(b *Builder, tk task.Task) (Built, error) {
			tk.Base, tk.Image, tk.Work.Setup = nil, "python:1", []string{"install"}
			return b.Work(t.Context(), tk, nil)
		},
	} {
		b, f, _ := builderOnFake(t, nil)
		b.opts.BuildSecrets = l
		f.HandleExec(func(_ context.Context, at *containertest.FakeContainer, _ container.Command) int {
			at.WriteFile("/etc/pip.conf", []byte("index-url = "+l.Mirrors["pip"]))
			return 0
		})
		tk := task.Task{Benchmark: "b", Name: "t", Workdir: "/w", Base: &task.Base{Name: "py", Image: "python:1", PostInstall: "RUN install"}}
		_, err := makeImage(b, tk)
		if leak, ok := errors.AsType[*LeakError](err); !ok || leak.File != "/etc/pip.conf" {
			t.Errorf("left in a %s image: %v", name, err)
		}
	}
}

func TestAListOfSourcesIsBounded(t *testing.T) {
	b, f, _ := builderOnFake(t, nil)
	b.opts.BuildSecrets = lent
	files := map[string]string{"/usr/bin/apt-get": ""}
	for i := range 17 {
		files[fmt.Sprintf("/etc/apt/sources.list.d/%d.list", i)] = "deb http://deb.debian.org/debian x\n" + strings.Repeat("#", maxSources-100)
	}
	f.AddImage("python:1", container.ImageConfig{}, merge(programs, files))
	_, err := b.Base(t.Context(), task.Task{Benchmark: "b", Base: &task.Base{Name: "py", Image: "python:1", Packages: []string{"git"}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func TestTheTailDoesNotBeginWithinASecret(t *testing.T) {
	l := BuildSecrets{Secrets: map[string]string{"K": "-----BEGIN KEY-----\nfirstlineofkey\nsecondlineofkey\n-----END KEY-----\n"}}
	for _, before := range []string{"", "x\n"} {
		for cut := range 60 {
			out := &tail{heard: func() {}, hide: l.hide}
			text := before + "-----BEGIN KEY-----\nfirstlineofkey\nsecondlineofkey\n-----END KEY-----\n" + strings.Repeat("y", tailBytes-cut)
			if _, err := io.Copy(out, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			if shown := out.lines(); strings.Contains(shown, "lineofkey") || strings.Contains(shown, "tlineof") {
				t.Fatalf("cut at %d: %.80s", cut, shown)
			}
		}
	}
}

func TestAptUsesTheMirrorOnlyWhilePackagesAreInstalled(t *testing.T) {
	const (
		old   = "deb http://deb.debian.org/debian bookworm main\ndeb http://security.debian.org/debian-security bookworm-security main\ndeb https://apt.example.org/pg main\n"
		new   = "Types: deb\nURIs: http://gb.archive.ubuntu.com/ubuntu/\n"
		other = "deb https://apt.example.org/x main\n"
	)
	files := map[string]string{
		"/etc/apt/sources.list": old, "/etc/apt/sources.list.d/ubuntu.sources": new, "/etc/apt/sources.list.d/other.list": other,
		"/usr/bin/apt-get": "",
	}
	b, f, _ := builderOnFake(t, nil)
	b.opts.BuildSecrets = lent
	read := func(at *containertest.FakeContainer) map[string]string {
		found := map[string]string{}
		for name := range files {
			content, _ := at.ReadFile(name)
			found[name] = string(content)
		}
		return found
	}
	during := map[string]string{}
	var after map[string]string
	f.HandleExec(func(_ context.Context, at *containertest.FakeContainer, c container.Command) int {
		if c.Argv[0] == "apt-get" {
			during = read(at)
		} else {
			after = read(at)
		}
		return 0
	})
	f.AddImage("python:1", container.ImageConfig{}, merge(programs, files))
	_, err := b.Base(t.Context(), task.Task{Benchmark: "b", Base: &task.Base{Name: "py", Image: "python:1", Packages: []string{"git"}, PostInstall: "RUN look"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := merge(files, map[string]string{
		"/etc/apt/sources.list":                  "deb https://mirror.example/debian bookworm main\ndeb https://mirror.example/debian-security bookworm-security main\ndeb https://apt.example.org/pg main\n",
		"/etc/apt/sources.list.d/ubuntu.sources": "Types: deb\nURIs: https://mirror.example/ubuntu/\n",
	})
	if diff := cmp.Diff(want, during); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, after); diff != "" {
		t.Error(diff)
	}
}

func TestAPasswordOfAMirrorIsInNoMessage(t *testing.T) {
	b := New(Options{CacheDir: t.TempDir(), BuildSecrets: BuildSecrets{
		Mirrors: map[string]string{"git": "http://bot:s3cr3tword@127.0.0.1:1"}, Forge: "https://ghe.example",
	}})
	for _, from := range []string{"https://github.com/owner/name", "https://ghe.example/owner/name"} {
		_, err := b.Mirrors().Clone(t.Context(), task.Repo{URL: from, Commit: strings.Repeat("1", 40)})
		if err == nil || !strings.Contains(err.Error(), "git fetch") || !strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "s3cr3tword") {
			t.Errorf("%s: got %v", from, err)
		}
	}
}
