package harbor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

// What would give another verdict makes the task a problem that says why.
func TestWhatCannotBeCarriedOver(t *testing.T) {
	t.Parallel()
	add := func(text string) map[string]string { return map[string]string{"task.toml": hello + text} }
	only := func(text string) map[string]string {
		return map[string]string{"task.toml": "schema_version = \"1.4\"\n" + text}
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"no TOML":             {only("a = [\n\n!"), "hello/task.toml:4 hello: is no TOML as Harbor writes it"},
		"a wrong type":        {only("[environment]\nenv = 3\n"), "hello/task.toml:3 hello: is no TOML"},
		"no instruction":      {map[string]string{"instruction.md": ""}, "instruction.md is not there"},
		"no tests":            {map[string]string{"tests/test.sh": ""}, "has no test.sh"},
		"no image":            {map[string]string{"environment/Dockerfile": ""}, "has no environment/Dockerfile"},
		"no working folder":   {map[string]string{"environment/Dockerfile": "FROM x\n"}, "says of no folder below /"},
		"unknown in WORKDIR":  {map[string]string{"environment/Dockerfile": "FROM x\nWORKDIR $HOME/x\n"}, "says of no folder below /"},
		"several steps":       {add("[[steps]]\nname = \"a\"\n[[steps]]\nname = \"b\"\n"), "has 2 steps that share one container"},
		"a step outside":      {add("[[steps]]\nname = \"../x\"\n"), `has no folder for the step "../x"`},
		"accelerators":        {only("[environment]\ngpus = 1\n"), "needs an accelerator"},
		"windows":             {only("[environment]\nos = \"windows\"\n"), `environment.os is "windows"`},
		"MCP":                 {only("[[environment.mcp_servers]]\nname = \"x\"\n"), "has MCP servers"},
		"health check":        {only("[environment.healthcheck]\ncommand = \"x\"\n"), "waits for a service"},
		"a host's variable":   {only("[environment]\nenv = { K = \"${KEY}\" }\n"), "environment.env.K takes KEY from the environment"},
		"a judge's variable":  {only("[verifier]\nenv = { K = \"${KEY}\" }\n"), "verifier.env.K takes KEY"},
		"below zero":          {only("[environment]\ncpus = -1\n"), "environment.cpus is -1, below zero"},
		"no number":           {only("[verifier]\ntimeout_sec = \"x\"\n"), "verifier.timeout_sec is x, which is no number"},
		"network mode":        {only("[environment]\nnetwork_mode = \"lan\"\n"), `the network mode "lan" is not known`},
		"a host with a port":  {only("[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"a:1\"]\n"), `the allowed host "a:1" is none`},
		"collect":             {only("[[verifier.collect]]\ncommand = \"x\"\n"), "runs commands in the container of the agent"},
		"no artifacts":        {only("[verifier]\nenvironment_mode = \"separate\"\n"), "names no artifacts below the working folder"},
		"artifacts elsewhere": {only("artifacts = [\"/etc/x\"]\n[verifier]\nenvironment_mode = \"separate\"\n"), "the artifact /etc/x is not below the working folder /srv/app"},
		"moved artifacts":     {only("artifacts = [{ source = \"a\", destination = \"/b\" }]\n[verifier]\nenvironment_mode = \"separate\"\n"), "goes to another place, /b"},
		"compose judges":      {map[string]string{"task.toml": "[verifier]\nenvironment_mode = \"separate\"\n", "tests/docker-compose.yaml": "a"}, "judges in containers of a compose file"},
		"side cars": {
			map[string]string{"environment/docker-compose.yaml": "services:\n  main: {}\n  db: {image: postgres}\n  cache: {image: redis}\n"},
			"hello/environment/docker-compose.yaml:0 hello: docker-compose.yaml needs 3 containers side by side (cache, db, main)",
		},
		"a server":     {map[string]string{"environment/docker-compose.yaml": "services:\n  main:\n    build: .\n    command: redis-server\n"}, `starts "redis-server"`},
		"two stages":   {map[string]string{"environment/Dockerfile": "FROM x\nFROM y\nWORKDIR /a\n"}, "its Dockerfile has 2 stages"},
		"a mount":      {map[string]string{"environment/docker-compose.yaml": "services:\n  main:\n    volumes: [\"./x:/x\"]\n"}, `mounts "./x:/x"`},
		"a privilege":  {map[string]string{"environment/docker-compose.yaml": "services:\n  main:\n    privileged: true\n"}, `asks for "privileged"`},
		"no compose":   {map[string]string{"environment/docker-compose.yaml": "services: ["}, "is no compose file"},
		"a large file": {map[string]string{"instruction.md": strings.Repeat("a", 5<<20)}, "instruction.md is larger than"},
		"a link out":   {map[string]string{"instruction.md": "->/etc/passwd"}, "instruction.md"},
		"a false note": {only("[metadata.assayd]\nnote = \"{\"\n"), "the note of assayd cannot be read"},
		"a note of another task": {
			only("[metadata.assayd]\nnote = '{\"task\":{\"Name\":\"x\"}}'\n"), `the note of assayd is of another task, "x"`,
		},
		"a note that leaves the folder": {
			only("[metadata.assayd]\nnote = '{\"task\":{\"Name\":\"hello\",\"Workdir\":\"/w\",\"Network\":{\"Mode\":\"none\"},\"Submit\":{\"Paths\":[\"../x\"]}}}'\n"), `the submitted path "../x" is not below the working folder`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := read(t, &tasktest.Trees{}, c.change)
			if len(all.Tasks) > 0 || !strings.Contains(said(all.Problems), c.want) {
				t.Errorf("%d tasks; it says\n%s\nwant\n%s", len(all.Tasks), said(all.Problems), c.want)
			}
		})
	}
}

// A note holds for the files that it was written with: who edits one of them must not find
// the old task behind it.
func TestAnExportThatWasEditedIsNotReadAsItWas(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	for _, c := range []struct{ task, file string }{
		{"written", "environment/Dockerfile"},
		{"written", "task.toml"},
		{"written", "tests/test.sh"},
		{"written", "tests/Dockerfile"},
		{"owner__repo-7", "tests/test.sh"},
		{"owner__repo-7", "tests/.assayd/hidden.patch"},
		{"owner__repo-7", "solution/solution.patch"},
	} {
		dir := t.TempDir()
		if _, err := harbor.Write(dir, tasktest.All(t, trees), trees); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, c.task, c.file)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.file == "task.toml" {
			text = []byte(strings.Replace(string(text), "cpus = 3", "cpus = 5", 1))
		} else {
			text = append(text, '\n')
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		all := harbor.Read(filepath.Join(dir, c.task), task.ReadOptions{Trees: trees})
		if len(all.Tasks) > 0 || !strings.Contains(said(all.Problems), c.file+" was changed since assayd wrote this task") {
			t.Errorf("%s: %d tasks, %s", c.file, len(all.Tasks), said(all.Problems))
		}
	}
}

// An edit of what the note leaves to the folder is taken: the instruction and the trees.
func TestAnExportCanBeEdited(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	dir := t.TempDir()
	if _, err := harbor.Write(dir, []task.Task{tasktest.Written(t, trees)}, trees); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"instruction.md": "Other.\n", "tests/.assayd/context/tests/test_b.py": "x\n"} {
		if err := os.WriteFile(filepath.Join(dir, "written", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := harbor.Read(dir, task.ReadOptions{Trees: trees})
	if len(all.Tasks) != 1 || all.Tasks[0].Instruction != "Other.\n" || len(trees.Names(t, all.Tasks[0].Judge.Context)) != 3 {
		t.Errorf("%+v", all)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{hello, "version = \"1.0\"\n[[steps]]\nname = \"a\"\n", "[environment]\nallowed_hosts = [\"::1\"]\nenv = { A = \"${B:-${C}}\" }\n"} {
		f.Add([]byte(text), []byte(image), []byte("services:\n  main: {build: {context: .}}\n"))
	}
	f.Fuzz(func(t *testing.T, config, dockerfile, compose []byte) {
		trees := &tasktest.Trees{}
		dir := tasktest.Folder(t, map[string]string{
			"hello/task.toml": "#\n" + string(config), "hello/environment/Dockerfile": "#\n" + string(dockerfile), "hello/instruction.md": "x",
			"hello/environment/docker-compose.yaml": "#\n" + string(compose), "hello/tests/test.sh": "x",
		})
		for _, got := range harbor.Read(dir, task.ReadOptions{Trees: trees}).Tasks {
			if got.Name != "hello" || got.Workdir == "" || got.Workdir[0] != '/' || len(got.Submit.Paths) == 0 || got.Judge.Timeout <= 0 {
				t.Errorf("accepted as %+v", got)
			}
		}
	})
}
