package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/reason"
)

func TestTools(t *testing.T) {
	files := map[string]string{
		"README": "one\ntwo\x1b[31m\nthree\n", "src/x.py": "x = 1\n", "src/.hidden": "x = 7\n", ".git/config": "x = 3\n", "empty": "",
		"long": strings.Repeat("word\n", 10_000), "wide": "needle" + strings.Repeat("a", 10_000) + "\n",
	}
	type args = map[string]any
	for name, c := range map[string]struct {
		tool  string
		args  args
		want  string // all of it, or what it has where it begins with …
		after map[string]string
	}{
		"a command":                    {tool: "shell", args: args{"command": "cat README; echo no >&2; exit 3"}, want: "exit 3\none\ntwo\nthree\nno"},
		"one without output":           {tool: "shell", args: args{"command": "true"}, want: "exit 0"},
		"one with a lot":               {tool: "shell", args: args{"command": "echo first; cat long long long; echo last; exit 1"}, want: "…bytes left out …]"},
		"one with progress":            {tool: "shell", args: args{"command": `printf '10%%\r50%%\r100%%\r\nok\r\n'`}, want: "exit 0\n100%\nok"},
		"no command":                   {tool: "shell", args: args{}, want: "error: command is missing"},
		"a command that is too long":   {tool: "shell", args: args{"command": strings.Repeat("x", maxLine+1)}, want: "error: command has more than 65536 bytes"},
		"reading":                      {tool: "read_file", args: args{"path": "README"}, want: "lines 1 to 3 of 3\n1: one\n2: two\n3: three"},
		"reading a part":               {tool: "read_file", args: args{"path": "./README", "offset": 2, "limit": 1}, want: "lines 2 to 2 of 3\n2: two"},
		"reading behind the end":       {tool: "read_file", args: args{"path": "README", "offset": 9}, want: "lines 4 to 3 of 3"},
		"reading before the beginning": {tool: "read_file", args: args{"path": "README", "offset": -9, "limit": -1}, want: "…1: one"},
		"reading much":                 {tool: "read_file", args: args{"path": "long", "limit": 1 << 40}, want: "…lines 1 to 400 of 10000\n"},
		"reading a long line":          {tool: "read_file", args: args{"path": "wide"}, want: "…bytes left out"},
		"reading nothing":              {tool: "read_file", args: args{"path": "empty"}, want: "the file is empty"},
		"reading what is not there":    {tool: "read_file", args: args{"path": "nowhere"}, want: "…error: read nowhere"},
		"reading a folder":             {tool: "read_file", args: args{"path": "src"}, want: "…error: read src"},
		"a way out":                    {tool: "read_file", args: args{"path": "src/../../x"}, want: "…leads out of the work directory"},
		"no path":                      {tool: "read_file", args: args{}, want: "error: path is missing"},
		"a path that is none":          {tool: "read_file", args: args{"path": "a\x00b"}, want: "error: the path is none"},
		"arguments of another type":    {tool: "read_file", args: args{"path": "README", "offset": "2"}, want: "…error: the arguments are not what the tool takes: json"},
		"writing":                      {tool: "write_file", args: args{"path": "a/b/c", "content": "new"}, want: "3 bytes written", after: map[string]string{"a/b/c": "new"}},
		"writing nothing":              {tool: "write_file", args: args{"path": "README", "content": ""}, want: "0 bytes written", after: map[string]string{"README": ""}},
		"writing without content":      {tool: "write_file", args: args{"path": "README"}, want: "error: content is missing", after: map[string]string{"README": files["README"]}},
		"writing to a folder":          {tool: "write_file", args: args{"path": "src", "content": "x"}, want: "…error: write src"},
		"listing":                      {tool: "list_dir", args: args{"path": "src"}, want: ".hidden\nx.py"},
		"listing all":                  {tool: "list_dir", args: args{}, want: ".git/\nREADME\nempty\nlong\nsrc/\nwide"},
		"listing a file":               {tool: "list_dir", args: args{"path": "README"}, want: "exit 1\nno such folder"},
		"searching":                    {tool: "grep", args: args{"pattern": "x = [17]", "path": "src"}, want: "…src/x.py:1:x = 1"},
		"searching all":                {tool: "grep", args: args{"pattern": "^x = (1|3)"}, want: "./src/x.py:1:x = 1"},
		"searching in vain":            {tool: "grep", args: args{"pattern": "nothing like it"}, want: "nothing matches"},
		"searching for an option":      {tool: "grep", args: args{"pattern": "--help", "path": "-x"}, want: "…No such file"},
		"searching a long line":        {tool: "grep", args: args{"pattern": "needle"}, want: "./wide:1:needle" + strings.Repeat("a", 300-len("./wide:1:needle"))},
		"searching for nothing":        {tool: "grep", args: args{}, want: "error: pattern is missing"},
		"a patch":                      {tool: "apply_patch", args: args{"patch": sourcePatch}, want: "exit 0\napplied", after: map[string]string{"src/x.py": "x = 2\n"}},
		"a patch that counts badly":    {tool: "apply_patch", args: args{"patch": strings.TrimSpace(strings.Replace(sourcePatch, "-1 +1", "-1,7 +1,9", 1))}, want: "exit 0\napplied", after: map[string]string{"src/x.py": "x = 2\n"}},
		"a patch of something else":    {tool: "apply_patch", args: args{"patch": testPatch}, want: "…tests/test_x.py", after: map[string]string{"src/x.py": "x = 1\n"}},
		"a patch of another format":    {tool: "apply_patch", args: args{"patch": "*** Begin Patch\n*** Update File: README\n"}, want: "…as git diff prints it"},
		"no tool":                      {tool: "browser", args: args{}, want: `error: there is no tool "browser"`},
	} {
		t.Run(name, func(t *testing.T) {
			room := newRoom(t, files)
			s := &script{answers: []Answer{says(called(c.tool, c.args))}, err: errBudget}
			if _, err := Run(t.Context(), job(room.dir), room, s.ask, nil); !errors.Is(err, errBudget) {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(s.last(1), room.dir, "WORK")
			if part, ok := strings.CutPrefix(c.want, "…"); ok && !strings.Contains(got, part) || !ok && got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if len(got) > outputHead+outputTail+100 {
				t.Errorf("%d bytes are shown", len(got))
			}
			for name, want := range c.after {
				if content, err := os.ReadFile(filepath.Join(room.dir, name)); err != nil || string(content) != want {
					t.Errorf("%s holds %q, %v", name, content, err)
				}
			}
		})
	}
}

func TestTroubleWithTheRoomEndsTheWork(t *testing.T) {
	room := newMemory()
	room.exec = func(context.Context, []string, time.Duration) (int, []byte, bool, error) {
		return 0, nil, false, errBudget
	}
	for _, tool := range []string{"shell", "list_dir", "grep", "apply_patch"} {
		s := &script{answers: []Answer{says(called(tool, map[string]string{"command": "x", "path": "x", "pattern": "x", "patch": "x"}))}}
		if _, err := Run(t.Context(), job("/work"), room, s.ask, nil); !errors.Is(err, errBudget) || reason.Of(err) != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestToolsAreSchemas(t *testing.T) {
	for _, write := range []bool{true, false} {
		var names []string
		for _, tool := range offered(Job{Write: write}) {
			var schema struct {
				Type       string
				Properties map[string]struct{ Type, Description string }
				Required   []string
			}
			if err := json.Unmarshal(tool.Parameters, &schema); err != nil || schema.Type != "object" || tool.Description == "" {
				t.Errorf("%s: %v in %s", tool.Name, err, tool.Parameters)
			}
			for _, name := range schema.Required {
				if schema.Properties[name].Description == "" {
					t.Errorf("%s has no %s", tool.Name, name)
				}
			}
			if _, ok := schema.Properties["files"]; tool.Name == "submit_tests" && ok != write {
				t.Errorf("files are wanted: %t, want %t", ok, write)
			}
			names = append(names, tool.Name)
		}
		want := []string{"shell", "read_file", "write_file", "list_dir", "grep", "apply_patch", "submit_tests"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
	}
}

func TestProposals(t *testing.T) {
	type args = map[string]any
	files := map[string]string{
		"tests/new_test.py": "def test(): assert f() == 2\n", "src/x.py": "x = 1\n", "tests/test_x.py": "x\n", "blank": " \n", "binary": "a\x00b", "latin": "\xe4",
		"huge": strings.Repeat("x", maxTests+1), ".git/hooks/x": "x",
	}
	accepted := func(p Proposal) Proposal { p.Parser = "pytest"; p.Test = "pytest"; return p }
	for name, c := range map[string]struct {
		write bool
		args  args
		wrong string
		want  Proposal
	}{
		"as little as can be":       {args: args{"test_command": " pytest\n"}, want: accepted(Proposal{})},
		"a parser by name":          {args: args{"test_command": "make check", "parser": "junit"}, want: Proposal{Environment: Environment{Test: "make check", Parser: "junit"}}},
		"no command":                {args: args{"install": []string{"true"}}, wrong: "test_command is missing"},
		"a blank one":               {args: args{"test_command": "  "}, wrong: "test_command is missing"},
		"a command of two lines":    {args: args{"test_command": "pytest\nrm -rf /"}, wrong: "test_command is not one line"},
		"install of two lines":      {args: args{"install": []string{"a", "b\nc"}, "test_command": "pytest"}, wrong: "command 2 of install is not one line"},
		"an empty line of install":  {args: args{"install": []string{""}, "test_command": "pytest"}, wrong: "command 1 of install is missing"},
		"install as one text":       {args: args{"install": "pip install .", "test_command": "pytest"}, wrong: "the arguments are not"},
		"too much of install":       {args: args{"install": make([]string, maxSetup+1), "test_command": "pytest"}, wrong: "more than 50 commands"},
		"a parser that is none":     {args: args{"test_command": "pytest", "parser": "eyes"}, wrong: `"eyes" is no parser`},
		"a parser without names":    {args: args{"test_command": "pytest", "parser": "exit_code"}, wrong: "no parser that tells of each test"},
		"nobody understands it":     {args: args{"test_command": "make check"}, wrong: "name a parser, one of cargo, ctrf"},
		"impossible with a command": {args: args{"test_command": "pytest", "impossible": "hard"}, want: accepted(Proposal{})},
		"files that nobody asked":   {args: args{"test_command": "pytest", "files": []string{"tests/new_test.py"}}, wrong: "leave files away"},
		"tests that were written": {
			write: true, args: args{"test_command": "pytest", "files": []string{"./tests/new_test.py"}},
			want: accepted(Proposal{Files: map[string]string{"tests/new_test.py": files["tests/new_test.py"]}}),
		},
		"none that were":            {write: true, args: args{"test_command": "pytest"}, wrong: "files is missing"},
		"more than anyone reads":    {write: true, args: args{"test_command": "pytest", "files": make([]string, maxFiles+1)}, wrong: "more than 20 files"},
		"one that is not there":     {write: true, args: args{"test_command": "pytest", "files": []string{"tests/x"}}, wrong: "tests/x: read x"},
		"one of the change":         {write: true, args: args{"test_command": "pytest", "files": []string{"src/x.py"}}, wrong: "changed by the pull request itself"},
		"one of its tests":          {write: true, args: args{"test_command": "pytest", "files": []string{"tests/../tests/test_x.py"}}, wrong: "changed by the pull request itself"},
		"one of Git's":              {write: true, args: args{"test_command": "pytest", "files": []string{".git/hooks/x"}}, wrong: "no file of the repository"},
		"one out of the repository": {write: true, args: args{"test_command": "pytest", "files": []string{"/etc/passwd"}}, wrong: "no file of the repository"},
		"one on the way out":        {write: true, args: args{"test_command": "pytest", "files": []string{"../x"}}, wrong: "leads out"},
		"an empty one":              {write: true, args: args{"test_command": "pytest", "files": []string{"blank"}}, wrong: "no text"},
		"a binary one":              {write: true, args: args{"test_command": "pytest", "files": []string{"binary"}}, wrong: "no text"},
		"one of another charset":    {write: true, args: args{"test_command": "pytest", "files": []string{"latin"}}, wrong: "no text"},
		"a huge one":                {write: true, args: args{"test_command": "pytest", "files": []string{"huge"}}, wrong: "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			room := newRoom(t, files)
			j, s := job(room.dir), &script{answers: []Answer{says(called("submit_tests", c.args))}, err: errBudget}
			if j.Write = c.write; c.write {
				j.Tests = nil
			}
			p, err := Run(t.Context(), j, room, s.ask, proved)
			if c.wrong != "" {
				if !errors.Is(err, errBudget) || !strings.HasPrefix(s.last(1), "error: ") || !strings.Contains(s.last(1), c.wrong) {
					t.Errorf("%v, %q, want %q", err, s.seen, c.wrong)
				}
				return
			}
			if diff := cmp.Diff(c.want, p); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}
