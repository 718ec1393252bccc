package harbor_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

const hello = `schema_version = "1.4"
source = "somewhere"

[task]
name = "org/hello"
description = "Says hello"
keywords = ["a", "b"]

[metadata]
difficulty = "easy"
tags = ["x", "y"]

[agent]
timeout_sec = 120.0
user = "dev"

[verifier]
timeout_sec = 90
env = { MODE = "${MODE:-strict}" }
user = 0

[environment]
network_mode = "no-network"
cpus = 2
memory_mb = 4096
storage_mb = 1024
env = { A = "x${B:-y}z" }
`

const image = "FROM python:3.12\nARG top=/srv\nWORKDIR $top\nWORKDIR app\nCOPY a.txt .\n"

// files is the folder of a task that is all right.
func files(change map[string]string) map[string]string {
	all := map[string]string{
		"task.toml": hello, "instruction.md": "Say hello.\n",
		"environment/Dockerfile": image, "environment/a.txt": "a\n",
		"tests/test.sh": "#!/bin/bash\necho 1 >/logs/verifier/reward.txt\n", "tests/data/x.bin": "\xff\x00",
		"solution/solve.sh": "#!/bin/bash\necho hello >hello.txt\n",
	}
	for name, content := range change {
		if all[name] = content; content == "" {
			delete(all, name)
		}
	}
	return all
}

func in(name string, files map[string]string) map[string]string {
	all := map[string]string{}
	for file, content := range files {
		all[name+"/"+file] = content
	}
	return all
}

// read reads a folder with one task called hello.
func read(t *testing.T, trees *tasktest.Trees, change map[string]string) task.Dataset {
	t.Helper()
	return harbor.Read(tasktest.Folder(t, in("hello", files(change))), task.ReadOptions{Trees: trees})
}

func said(problems []task.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s:%d %s: %s", p.File, p.Line, p.Task, p.Text))
	}
	return strings.Join(lines, "\n")
}

func TestATaskIsReadAsItIsMeant(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	all := read(t, trees, nil)
	const told = "hello/task.toml:0 hello: gives its agent 2m0s; here a run says how long one has (timeout)"
	if len(all.Problems) > 0 || said(all.Notices) != told || len(all.Tasks) != 1 {
		t.Fatalf("%d tasks, problems %s, notices %s", len(all.Tasks), said(all.Problems), said(all.Notices))
	}
	got := all.Tasks[0]
	limits := task.Part{CPUs: 2, Memory: 4 << 30, PIDs: 32768, Disk: 1 << 30}
	work, judged := limits, limits
	work.Dockerfile, work.User, work.Env = image, "dev", map[string]string{"A": "xyz"}
	work.Context = trees.Of(t, map[string]string{"Dockerfile": image, "a.txt": "a\n"})
	judged.User, judged.Env = "0", map[string]string{"A": "xyz", "MODE": "strict"}
	judged.Context = trees.Of(t, map[string]string{
		".assayd-tests/test.sh": "#!/bin/bash\necho 1 >/logs/verifier/reward.txt\n", ".assayd-tests/data/x.bin": "\xff\x00",
	})
	judged.Setup = []string{"rm -rf /tests /logs/verifier && mv .assayd-tests /tests && chmod -R a+rX /tests"}
	want := task.Task{
		Name: "hello", Title: "org/hello", Workdir: "/srv/app", Instruction: "Say hello.\n", Network: task.Network{Mode: "none"},
		Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 30, MaxFiles: 100_000}, Work: work,
		Judge: task.Judge{
			Part: judged, Command: task.Command{Shell: "bash /tests/test.sh"}, Timeout: 90 * time.Second, Parser: "reward",
			Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
		},
		Solution: got.Solution,
		Metadata: map[string]string{
			"difficulty": "easy", "tags": `["x","y"]`, "description": "Says hello", "source": "somewhere", "keywords": "a, b", "timeout": "2m0s",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := got.Solution; s == nil || !strings.Contains(s.Script, "/solution/solve.sh") {
		t.Errorf("the solution is %+v", s)
	}
}

func TestOneTaskOrAFolderOfThem(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	dir := tasktest.Folder(t, in("one", files(nil)))
	for name, content := range in("two", files(nil)) {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, c := range map[string]struct {
		wanted func(string) bool
		want   []string
	}{
		dir:                       {nil, []string{"one", "two"}},
		filepath.Join(dir, "one"): {nil, []string{"one"}},
		dir + "/":                 {func(name string) bool { return name == "two" }, []string{"two"}},
	} {
		all := harbor.Read(path, task.ReadOptions{Trees: trees, Wanted: c.wanted})
		var names []string
		for _, task := range all.Tasks {
			names = append(names, task.Name)
		}
		if !slices.Equal(names, c.want) || len(all.Problems) > 0 {
			t.Errorf("%s: tasks %q, problems %s", path, names, said(all.Problems))
		}
	}
	if all := harbor.Read(t.TempDir(), task.ReadOptions{}); len(all.Problems) != 1 {
		t.Errorf("an empty folder: %+v", all)
	}
}

// The old schema says network and sizes in another way.
func TestTheFirstSchema(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{"task.toml": "version = \"1.0\"\n[environment]\nallow_internet = false\nmemory = \"3G\"\nstorage = \"512M\"\ncpus = 1\n"})
	if len(all.Tasks) != 1 || len(all.Notices) > 0 {
		t.Fatalf("problems %s, notices %s", said(all.Problems), said(all.Notices))
	}
	if got := all.Tasks[0]; got.Network.Mode != "none" || got.Judge.Network || got.Work.Memory != 3<<30 || got.Work.Disk != 512<<20 || got.Judge.Timeout != 10*time.Minute {
		t.Errorf("%+v", got)
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		network task.Network
		judge   bool
		notice  string
	}{
		"": {task.Network{Mode: "open"}, true, "is judged with an open network"},
		"[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"pypi.org\", \"*.b.c\", \"10.0.0.0/8\", \"1.2.3.4\", \"::1\"]": {
			task.Network{Mode: "allow", Allow: []string{
				"pypi.org:80", "pypi.org:443", "*.b.c:80", "*.b.c:443", "1.2.3.4:80", "1.2.3.4:443", "[::1]:80", "[::1]:443",
			}}, false, "is judged without a network, where it allows pypi.org, *.b.c, 10.0.0.0/8",
		},
		"[verifier]\nnetwork_mode = \"allowlist\"":                                               {task.Network{Mode: "open"}, false, ""},
		"[verifier.environment]\ndocker_image = \"j\"\nallow_internet = false":                   {task.Network{Mode: "open"}, false, ""},
		"[environment]\nallow_internet = false\n[verifier]\nnetwork_mode = \"public\"":           {task.Network{Mode: "none"}, true, "is judged with an open network"},
		"[environment]\nnetwork_mode = \"allowlist\"\n[verifier]\nnetwork_mode = \"no-network\"": {task.Network{Mode: "none"}, false, ""},
		"[agent]\nnetwork_mode = \"no-network\"":                                                 {task.Network{Mode: "none"}, true, "is judged with an open network"},
	} {
		all := read(t, &tasktest.Trees{}, map[string]string{"task.toml": "schema_version = \"1.3\"\nartifacts = [\"a\"]\n" + text})
		if len(all.Tasks) != 1 {
			t.Errorf("%s: %s", text, said(all.Problems))
			continue
		}
		got := all.Tasks[0]
		if diff := cmp.Diff(want.network, got.Network); diff != "" || got.Judge.Network != want.judge || !strings.Contains(said(all.Notices), want.notice) {
			t.Errorf("%s: judge %t, notices %s\n%s", text, got.Judge.Network, said(all.Notices), diff)
		}
	}
}

func TestWaysToAnImage(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	base := "schema_version = \"1.4\"\n[verifier]\nnetwork_mode = \"no-network\"\n[environment]\n"
	dockerfile := map[string]string{"Dockerfile": image, "a.txt": "a\n"}
	for name, c := range map[string]struct {
		change map[string]string
		image  string
		work   task.Part
		dir    string
	}{
		"image alone": {
			map[string]string{"task.toml": base + "docker_image = \"i:1\"\nworkdir = \"/w\"\n", "environment/Dockerfile": ""},
			"",
			task.Part{Image: "i:1", Context: trees.Of(t, map[string]string{"a.txt": "a\n"})},
			"/w",
		},
		"image of a Dockerfile": {map[string]string{"task.toml": base + "docker_image = \"i:1\"\n"}, "", task.Part{Image: "i:1"}, "/srv/app"},
		"relative workdir":      {map[string]string{"task.toml": base + "workdir = \"sub\"\n"}, "", task.Part{Dockerfile: image, Context: trees.Of(t, dockerfile)}, "/srv/app/sub"},
		"compose with one service": {
			map[string]string{"task.toml": base + "env = { A = \"ours\" }\n", "environment/docker-compose.yaml": "services:\n  main:\n    build: .\n    working_dir: /c\n    environment:\n      A: theirs\n      B: ${B:-2}\n    command: sleep infinity\n    volumes:\n      - ${LOGS}:/logs\n"},
			"",
			task.Part{Dockerfile: image, Env: map[string]string{"A": "ours", "B": "2"}, Context: trees.Of(t, map[string]string{"Dockerfile": image, "a.txt": "a\n", "docker-compose.yaml": "services:\n  main:\n    build: .\n    working_dir: /c\n    environment:\n      A: theirs\n      B: ${B:-2}\n    command: sleep infinity\n    volumes:\n      - ${LOGS}:/logs\n"})},
			"/c",
		},
		"image of whoever imports": {
			map[string]string{"task.toml": base, "environment/Dockerfile": ""}, "python:3", task.Part{Image: "python:3", Context: trees.Of(t, map[string]string{"a.txt": "a\n"})}, "/workspace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := harbor.Read(tasktest.Folder(t, in("hello", files(c.change))), task.ReadOptions{Trees: trees, Image: c.image})
			if len(all.Tasks) != 1 || len(all.Notices) > 0 {
				t.Fatalf("problems %s, notices %s", said(all.Problems), said(all.Notices))
			}
			got := all.Tasks[0]
			c.work.CPUs, c.work.Memory, c.work.PIDs, c.work.Disk = 1, 2<<30, 32768, 10<<30
			if diff := cmp.Diff(c.work, got.Work); diff != "" || got.Workdir != c.dir {
				t.Errorf("workdir %s\n%s", got.Workdir, diff)
			}
		})
	}
}

// A judge of its own sees what is named as an artifact, and nothing else.
func TestASeparateVerifier(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	const config = "schema_version = \"1.4\"\nartifacts = [\"/srv/app/out\", { source = \"b.txt\", exclude = [\"*.o\"] }]\n[verifier]\nenvironment_mode = \"separate\"\nnetwork_mode = \"no-network\"\n"
	for name, c := range map[string]struct {
		change map[string]string
		check  func(task.Judge) bool
	}{
		"its own Dockerfile": {map[string]string{"tests/Dockerfile": "FROM x\nCOPY . /tests\n"}, func(j task.Judge) bool {
			return j.Dockerfile == "FROM x\nCOPY . /tests\n" && slices.Contains(trees.Names(t, j.Context), "test.sh") && len(j.Setup) == 0
		}},
		"its own image": {map[string]string{"task.toml": config + "[verifier.environment]\ndocker_image = \"j:1\"\ncpus = 4\n"}, func(j task.Judge) bool {
			return j.Image == "j:1" && j.CPUs == 4 && j.Context.Digest == ""
		}},
		"a copy of the agent's": {nil, func(j task.Judge) bool { return j.Image+j.Dockerfile == "" && len(j.Setup) == 1 }},
	} {
		change := map[string]string{"task.toml": config}
		maps.Copy(change, c.change)
		all := read(t, trees, change)
		if len(all.Tasks) != 1 {
			t.Errorf("%s: %s", name, said(all.Problems))
			continue
		}
		got := all.Tasks[0]
		if !c.check(got.Judge) || !slices.Equal(got.Submit.Paths, []string{"out", "b.txt"}) || !slices.Equal(got.Submit.Exclude, []string{"*.o"}) {
			t.Errorf("%s: %+v\n%+v", name, got.Submit, got.Judge)
		}
	}
}

func TestTheOnlyStepIsTheTask(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{
		"task.toml": "schema_version = \"1.4\"\n[verifier]\nnetwork_mode = \"no-network\"\n[[steps]]\nname = \"s1\"\nverifier = { timeout_sec = 30 }\n", "instruction.md": "", "tests/test.sh": "", "tests/data/x.bin": "", "solution/solve.sh": "",
		"steps/s1/instruction.md": "Step.\n", "steps/s1/tests/test.sh": "true\n", "steps/s1/solution/solve.sh": "true\n",
	})
	if len(all.Tasks) != 1 || len(all.Notices) > 0 || all.Tasks[0].Instruction != "Step.\n" || all.Tasks[0].Judge.Timeout != 30*time.Second {
		t.Errorf("%+v", all)
	}
}

func TestTheOnlyStepSaysWhoItsAgentIs(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{
		"task.toml":               "schema_version = \"1.4\"\n[agent]\nnetwork_mode = \"public\"\n[[steps]]\nname = \"s1\"\nagent = { user = \"dev\", network_mode = \"allowlist\", allowed_hosts = [\"a.b\"] }\n",
		"steps/s1/instruction.md": "Step.\n", "steps/s1/tests/test.sh": "true\n",
	})
	if len(all.Tasks) != 1 {
		t.Fatal(said(all.Problems))
	}
	want := task.Network{Mode: "allow", Allow: []string{"a.b:80", "a.b:443"}}
	if got := all.Tasks[0]; got.Work.User != "dev" || !cmp.Equal(got.Network, want) {
		t.Errorf("%q, %+v", got.Work.User, got.Network)
	}
}

// Whom the agent works as says nothing of who judges.
func TestWhoJudges(t *testing.T) {
	t.Parallel()
	const root = "is judged as root: the agent's user is another"
	for name, c := range map[string]struct {
		agent, verifier, dockerfile, compose string
		want, notice                         string
	}{
		"nobody is named":       {"", "", image, "", "", ""},
		"the agent alone":       {"dev", "", image, "", "root", root},
		"the verifier":          {"dev", "judge", image, "", "judge", ""},
		"the Dockerfile":        {"dev", "", image + "USER dev\nUSER app\n", "", "app", ""},
		"a variable":            {"dev", "", image + "ARG U\nUSER $U\n", "", "root", root},
		"the compose file":      {"dev", "", image + "USER app\n", "svc", "svc", ""},
		"the compose file only": {"", "", image, "svc", "svc", ""},
	} {
		change := map[string]string{"task.toml": "[agent]\nuser = \"" + c.agent + "\"\n[verifier]\nuser = \"" + c.verifier + "\"\n", "environment/Dockerfile": c.dockerfile}
		if c.compose != "" {
			change["environment/docker-compose.yaml"] = "services: {main: {build: ., user: " + c.compose + "}}\n"
		}
		all := read(t, &tasktest.Trees{}, change)
		if len(all.Tasks) != 1 {
			t.Errorf("%s: %s", name, said(all.Problems))
			continue
		}
		if got := all.Tasks[0].Judge.User; got != c.want || strings.Contains(said(all.Notices), root) != (c.notice != "") {
			t.Errorf("%s: %q, want %q; notices %s", name, got, c.want, said(all.Notices))
		}
	}
}

func TestWhatAComposeFileLimits(t *testing.T) {
	t.Parallel()
	const compose = "services: {main: {build: ., network_mode: none, cpus: 3, mem_limit: 4g}}\n"
	for name, c := range map[string]struct {
		config string
		cpus   float64
	}{
		"alone":         {"", 3},
		"not task.toml": {"[environment]\ncpus = 2\n", 2},
	} {
		all := read(t, &tasktest.Trees{}, map[string]string{"task.toml": "schema_version = \"1.4\"\n" + c.config, "environment/docker-compose.yaml": compose})
		if len(all.Tasks) != 1 {
			t.Errorf("%s: %s", name, said(all.Problems))
			continue
		}
		got := all.Tasks[0]
		if got.Network.Mode != "none" || got.Judge.Network {
			t.Errorf("%s: networks %q, %t", name, got.Network.Mode, got.Judge.Network)
		}
		for _, p := range []task.Part{got.Work, got.Judge.Part} {
			if p.CPUs != c.cpus || p.Memory != 4<<30 {
				t.Errorf("%s: %g CPUs, %d bytes", name, p.CPUs, p.Memory)
			}
		}
	}
}

func TestTestsThatLookElsewhereAreTold(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{"tests/test_a.py": "open('/app/out.txt')\nopen('/srv/app/x')\nopen('/tests/y')\n"})
	if len(all.Tasks) != 1 || !strings.Contains(said(all.Notices), "at /app/out.txt;") {
		t.Errorf("notices %s", said(all.Notices))
	}
}
