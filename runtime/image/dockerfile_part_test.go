package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image/dockerfile"
	"github.com/assayd/assayd/runtime/task"
)

// packedTree is a tar, compressed if wanted, of one file.
func packedTree(t *testing.T, name, text string, compressed bool) string {
	t.Helper()
	var b, z bytes.Buffer
	tw := tar.NewWriter(&b)
	err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o640, Size: int64(len(text)), Uid: 5, Gid: 6})
	if err = errors.Join(err, second(io.WriteString(tw, text)), tw.Close()); err != nil {
		t.Fatal(err)
	}
	if !compressed {
		return b.String()
	}
	gz := gzip.NewWriter(&z)
	if err := errors.Join(second(gz.Write(b.Bytes())), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return z.String()
}

// inside lists the files of an image below some folders: mode, owner and content.
func inside(t *testing.T, f *containertest.Fake, id string, tops ...string) map[string]string {
	t.Helper()
	c, err := f.Start(t.Context(), container.Workload{Name: "inside-" + id, Image: id, Argv: []string{"/hold"}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, top := range tops {
		rc, err := f.CopyFrom(t.Context(), c.ID, top)
		if errors.Is(err, container.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(rc); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				found[h.Name] = fmt.Sprintf("%o %d:%d %s", h.Mode, h.Uid, h.Gid, text)
			}
		}
	}
	return found
}

func ofDockerfile(text string) task.Task {
	return task.Task{
		Benchmark: "edge", Name: "df", Image: "never:used", Workdir: "/w",
		Work: task.Part{Dockerfile: text, Context: task.Tree{Digest: "context"}},
	}
}

func TestWhereCopiedFilesGo(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.txt": "a", "b.txt": "b", "src/": "", "src/x.py": "x", "src/deep/": "", "src/deep/y.py": "y", "skip/": "", "skip/z": "z",
		"skip/keep": "k", "one.log": "l", ".dockerignore": "# note\nskip\n!skip/keep\n*.log\n",
		"t.tar": packedTree(t, "in/tar", "T", false), "t.tgz": packedTree(t, "zipped", "Z", true),
	}
	files["pack/"], files["pack/t.tar"] = "", files["t.tar"]
	for _, c := range []struct {
		name, text string
		want       map[string]string // below /d and /w
	}{
		{"a file as another", "COPY a.txt /d/new", map[string]string{"d/new": "644 0:0 a"}},
		{"a file into a folder", "COPY a.txt /d/", map[string]string{"d/a.txt": "644 0:0 a"}},
		{"a file into a folder that is there", "WORKDIR /d\nCOPY ./a.txt /d", map[string]string{"d/a.txt": "644 0:0 a"}},
		{"a file below the present folder", "WORKDIR /d\nWORKDIR e\nCOPY a.txt n", map[string]string{"d/e/n": "644 0:0 a"}},
		{"many files", "COPY a.txt b.txt /d", map[string]string{"d/a.txt": "644 0:0 a", "d/b.txt": "644 0:0 b"}},
		{"what a pattern names", "COPY [a-b].t?t /d/", map[string]string{"d/a.txt": "644 0:0 a", "d/b.txt": "644 0:0 b"}},
		{"the content of a folder", "COPY src /d", map[string]string{"d/x.py": "644 0:0 x", "d/deep/y.py": "644 0:0 y"}},
		{"all of it", "COPY . /d", map[string]string{
			"d/a.txt": "644 0:0 a", "d/b.txt": "644 0:0 b", "d/src/x.py": "644 0:0 x", "d/src/deep/y.py": "644 0:0 y", "d/skip/keep": "644 0:0 k",
			"d/pack/t.tar":    "644 0:0 " + files["t.tar"],
			"d/.dockerignore": "644 0:0 " + files[".dockerignore"], "d/t.tar": "644 0:0 " + files["t.tar"], "d/t.tgz": "644 0:0 " + files["t.tgz"],
		}},
		{"folders of a pattern", "COPY s*c/de* /d", map[string]string{"d/y.py": "644 0:0 y"}},
		{"nothing from outside", "COPY ../../a.txt /d/", map[string]string{"d/a.txt": "644 0:0 a"}},
		{"what is not ignored", "COPY skip /d/", map[string]string{"d/keep": "644 0:0 k"}},
		{"owner and mode", "COPY --chown=agent:7 --chmod=750 a.txt /d/", map[string]string{"d/a.txt": "750 1000:7 a"}},
		{"an owner by number", "COPY --chown=55 a.txt /d/", map[string]string{"d/a.txt": "644 55:55 a"}},
		{"variables", "ARG N=b\nENV D=/d\nCOPY ${N}.txt $D/", map[string]string{"d/b.txt": "644 0:0 b"}},
		{"names in JSON", `COPY ["a.txt", "/d/with space"]`, map[string]string{"d/with space": "644 0:0 a"}},
		{"here-documents", "ENV V=v\nCOPY <<EOF <<\"F\" /d/\n1 $V\nEOF\n2 $V\nF\nCOPY <<X /d/x\n3\nX", map[string]string{"d/EOF": "644 0:0 1 v\n", "d/F": "644 0:0 2 $V\n", "d/x": "644 0:0 3\n"}},
		{"an archive that is copied", "COPY t.tar /d/", map[string]string{"d/t.tar": "644 0:0 " + files["t.tar"]}},
		{"archives that are added", "ADD t.tar t.tgz a.txt /d/", map[string]string{"d/in/tar": "640 5:6 T", "d/zipped": "640 5:6 Z", "d/a.txt": "644 0:0 a"}},
		{"archives in a folder that is added", "ADD pack /d/", map[string]string{"d/t.tar": "644 0:0 " + files["t.tar"]}},
		{"an archive that is added without a slash", "ADD t.tar /d", map[string]string{"d/in/tar": "640 5:6 T"}},
		{"with the folder of the task", "WORKDIR /w\nCOPY src/x.py .", map[string]string{"w/x.py": "644 0:0 x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, f, _ := builderOnFake(t, trees{"context": files})
			f.AddImage("python:1", container.ImageConfig{}, merge(programs, map[string]string{"/etc/passwd": "agent:x:1000:1000::/home/agent:/bin/sh\n"}))
			work, err := b.Work(t.Context(), ofDockerfile("FROM python:1\n"+c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, inside(t, f, work.ID, "/d", "/w")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnImageOfADockerfile(t *testing.T) {
	b, f, sh := builderOnFake(t, trees{"context": {"a.txt": "a"}})
	f.AddImage("python:1", container.ImageConfig{Env: map[string]string{"PATH": "/bin"}, Workdir: "/home", Labels: map[string]string{"from": "1"}},
		merge(programs, map[string]string{"/etc/passwd": "agent:x:1000:1000::/home/agent:/bin/sh\n"}))
	tk := ofDockerfile(`# syntax=docker/dockerfile:1
ARG TAG=1
FROM --platform=$BUILDPLATFORM python:${TAG} AS only
ARG TAG
ENV LEVEL=1 SEEN=$TAG
WORKDIR /app
RUN touch /app/made
COPY a.txt .
USER agent
RUN true
LABEL mine=yes
VOLUME /data
HEALTHCHECK CMD true
ENTRYPOINT ["/bin/never"]
CMD ["never"]
`)
	tk.Work.Env, tk.Work.Files, tk.Work.Setup = map[string]string{"LEVEL": "2"}, map[string]string{"late": "#!/bin/sh\n"}, []string{"touch /w/setup"}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"touch /app/made", "true", "touch /w/setup"}, sh.ran); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"app/made": "644 0:0 ", "app/a.txt": "644 0:0 a", "w/late": "755 0:0 #!/bin/sh\n", "w/setup": "644 0:0 "}
	if diff := cmp.Diff(want, inside(t, f, work.ID, "/app", "/w")); diff != "" {
		t.Error(diff)
	}
	c := work.Config
	if c.User != "agent" || c.Workdir != "/app" || c.Labels["mine"] != "yes" || c.Labels["from"] != "1" || len(c.Cmd) != 0 {
		t.Errorf("got %+v", c)
	}
	if diff := cmp.Diff(map[string]string{"PATH": "/bin", "LEVEL": "2", "SEEN": "1"}, c.Env); diff != "" {
		t.Error(diff)
	}

	again, err := b.Work(t.Context(), tk, nil)
	if err != nil || !again.Cached || again.ID != work.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	tk.Work.Dockerfile += "RUN true\n"
	if other, err := b.Work(t.Context(), tk, nil); err != nil || other.ID == work.ID {
		t.Errorf("another text: %+v, %v", other, err)
	}
}

func TestAJudgeImageOfADockerfileIsMadeOfNothingElse(t *testing.T) {
	b, f, _ := builderOnFake(t, trees{"context": {"a.txt": "a"}, "hidden": {"tests/": "", "tests/t.py": "t", "b.txt": "b"}})
	f.AddImage("judge:1", container.ImageConfig{}, programs)
	tk := ofDockerfile("FROM python:1\nCOPY a.txt /d/\n")
	tk.Judge.Dockerfile, tk.Judge.Context = "FROM judge:1\nCOPY tests /tests\n", task.Tree{Digest: "hidden"}
	judge, err := b.Judge(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"tests/t.py": "644 0:0 t"}, inside(t, f, judge.ID, "/d", "/w", "/tests")); diff != "" {
		t.Error(diff)
	}
	if hidden, err := b.Hidden(tk); err != nil || len(hidden) != 0 {
		t.Errorf("hidden are %q, %v", hidden, err)
	}
	onWork := tk
	onWork.Judge = task.Judge{Part: task.Part{Files: map[string]string{"tests/t.py": "t"}}}
	if judge, err = b.Judge(t.Context(), onWork, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"d/a.txt": "644 0:0 a", "w/tests/t.py": "644 0:0 t"}, inside(t, f, judge.ID, "/d", "/w")); diff != "" {
		t.Error(diff)
	}
}

func TestDockerfilesThatCannotBeFollowed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# nothing", "no instructions"},
		{"RUN true", "no build stage in current context"},
		{"FROM scratch\nCOPY a.txt /", "FROM scratch: an image is needed to begin with"},
		{"FROM $NONE", "an image is needed"},
		{"FROM python:1\nFROM python:1", "line 2: a second FROM; one stage is supported"},
		{"FROM python:1\nCOPPY a b", "unknown instruction: COPPY"},
		{"FROM python:1\nCOPY nothing /d", `line 2: COPY: "nothing" is not in the build context`},
		{"FROM python:1\nCOPY one.log /d", `"one.log" is not in the build context`},
		{"FROM python:1\nCOPY *.md /d", `"*.md" is not in the build context`},
		{"FROM python:1\nCOPY a[ /d", "syntax error in pattern"},
		{"FROM python:1\nCOPY --from=other a /d", "--from is not supported"},
		{"FROM python:1\nCOPY --chown=nobody-knows a.txt /d", `user "nobody-knows" is not in /etc/passwd`},
		{"FROM python:1\nCOPY --chmod=u+x a.txt /d", "octal"},
		{"FROM python:1\nADD https://example.org/x /d", "only files of the build context can be added"},
		{"FROM python:1\nADD git@example.org:x.git /d", "only files of the build context can be added"},
		{"FROM python:1\nADD bad.tar /d", `"bad.tar": the entry "../x" is not below its top`},
		{"FROM python:1\nADD x.tar.xz /d", "xz and zstd cannot be unpacked"},
		{"FROM python:1\nRUN --mount=type=ssh true", "--mount=type=ssh is not supported"},
		{"FROM python:1\nRUN --mount=type=bind,target=/x true", "--mount=type=bind is not supported"},
		{"FROM python:1\n\nRUN fail", "dockerfile[3] ended with exit code 2: fail"},
		{"FROM python:1\n" + strings.Repeat("#", dockerfile.MaxSize), "is the most"},
	} {
		b, _, _ := builderOnFake(t, trees{"context": {
			"a.txt": "a", "one.log": "", ".dockerignore": "*.log\n", "bad.tar": packedTree(t, "../x", "", false), "x.tar.xz": "\xfd7zXZ\x00",
		}})
		_, err := b.Work(t.Context(), ofDockerfile(c.text), nil)
		failed, ok := errors.AsType[*SetupError](err)
		if !ok || failed.Attribute != "dockerfile" || failed.Role != container.RoleWork || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, want %q", c.text, err, c.want)
		}
	}
	b, _, _ := builderOnFake(t, trees{})
	_, err := b.Work(t.Context(), ofDockerfile("FROM python:1\nCOPY a.txt /d"), nil)
	if _, ok := errors.AsType[*SetupError](err); ok || !errors.Is(err, errNoTree) {
		t.Errorf("a context that is lost is not the text's fault: %v", err)
	}
}

func TestAnImageOfADockerfileOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"sleep", "1h"}, trees{"context": {
		"app/": "", "app/main.py": "print('main')\n", "app/data/": "", "app/data/d.txt": "d\n", "requirements.txt": "none\n", "secret.env": "s",
		".dockerignore": "*.env\n", "t.tgz": packedTree(t, "in/tar", "T\n", true),
	}})
	needPython(t, e)
	tk := task.Task{Benchmark: "edge", Name: owner, Workdir: "/srv/app", Work: task.Part{Context: task.Tree{Digest: "context"}, Dockerfile: `FROM ` + pythonBase + ` AS build
ARG WHO=agent TARGETOS
RUN useradd -m $WHO \
    # between the lines
    && id $WHO
WORKDIR /srv/app
COPY requirements.txt ./
COPY --chown=agent app/ ./src/
COPY --chmod=755 <<EOF /usr/local/bin/hi
#!/bin/sh
echo hi \$1 from ${WHO}
EOF
ADD t.tgz /opt/t/
SHELL ["/bin/bash", "-c"]
RUN [[ -f requirements.txt ]] && shopt -s extglob && echo "bash $TARGETOS" > /opt/bash
RUN <<EOF
#!/usr/bin/env python3
open('/opt/python', 'w').write('python\n')
EOF
ENV MODE=strict
USER $WHO
RUN id -un > /home/agent/who
`}}
	work, err := b.Work(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh := in(t, e, owner, work)
	for line, want := range map[string]string{
		"whoami; pwd; echo $MODE":                          "agent\n/srv/app\nstrict",
		"find . -type f | sort":                            "./requirements.txt\n./src/data/d.txt\n./src/main.py",
		"stat -c %U:%G requirements.txt src/main.py":       "root:root\nagent:agent",
		"hi you; cat /opt/bash /opt/python":                "hi you from agent\nbash linux\npython",
		"cat /home/agent/who; stat -c %u:%g /opt/t/in/tar": "agent\n5:6",
	} {
		if got := sh(line); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func FuzzDockerfile(f *testing.F) {
	f.Add("ARG A=b\nFROM python:$A\nCOPY --chown=1:2 a* /d/\nRUN <<EOF\n$A\nEOF\nADD a.txt t.tar .\nWORKDIR x")
	f.Add("FROM x\nENV A=\"${B:-c}\" 'D=e'\nSHELL [\"a\"]\nRUN --mount=type=cache,target=/x y")
	f.Fuzz(func(t *testing.T, text string) {
		s := siteWith(func(context.Context, container.Command) (int, error) { return 0, nil }, recipe{Dockerfile: text, Context: "c"})
		s.b.copier, s.b.opts.Trees = anywhere{}, trees{"c": {"a.txt": "a", "d/": "", "d/e": "e"}}
		_ = s.dockerfile(t.Context()) // an error is an answer; a panic is none
	})
}
