package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

// A block of a page says behind its language what the test does with it:
//
//	run                     the commands run, and must succeed
//	checked                 HCL: it is valid, in a folder with what the page has written so far;
//	                        commands: each names a command and flags that exist
//	settings                HCL: it is valid as a file of settings
//	shown: REASON           nothing, for that reason
//	file=NAME               it is written into the folder of the page
//	dir=FOLDER              the page's folder begins with a copy of that folder of the repository
//
// Blocks of text, json, and other languages are no commands and need none of it.
type docsBlock struct {
	page, lang, how, text string
	line                  int
	file, dir             string
}

// docsPages are the pages for users: the README and the guides.
func docsPages(t *testing.T) []string {
	t.Helper()
	guides, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(guides) < 8 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	return append([]string{"../../README.md"}, guides...)
}

// docsBlocks reads the fenced blocks of a page; one that is not marked as it should be is an error.
func docsBlocks(t *testing.T, page string) (blocks []docsBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("^```(\\w*) ?(.*)$")
	var open *docsBlock
	for i, line := range strings.Split(string(text), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil && open != nil:
			open.text += line + "\n"
		case m != nil && open != nil:
			blocks, open = append(blocks, *open), nil
		case m != nil:
			open = &docsBlock{page: page, lang: m[1], how: m[2], line: i + 1}
			for _, word := range strings.Fields(m[2]) {
				if name, ok := strings.CutPrefix(word, "file="); ok {
					open.file = name
				}
				if name, ok := strings.CutPrefix(word, "dir="); ok {
					open.dir = name
				}
			}
			open.marked(t)
		}
	}
	if open != nil {
		t.Errorf("%s: the block of line %d has no end", page, open.line)
	}
	return blocks
}

func (b *docsBlock) marked(t *testing.T) {
	t.Helper()
	reason, shown := strings.CutPrefix(b.how, "shown: ")
	first, _, _ := strings.Cut(b.how, " ")
	switch {
	case b.lang != "sh" && b.lang != "hcl" && b.lang != "":
	case b.lang == "":
		t.Errorf("%s:%d: the block has no language", b.page, b.line)
	case shown && len(reason) > 10:
	case b.lang == "sh" && (first == "run" || first == "checked" || b.file != ""):
	case b.lang == "hcl" && (first == "checked" || first == "settings"):
	default:
		t.Errorf("%s:%d: a block of %s is marked %q; say run, checked, settings, file=, or shown: and a reason", b.page, b.line, b.lang, b.how)
	}
}

// TestPagesDoAsTheySay runs and checks the blocks of the pages for users, in their order.
func TestPagesDoAsTheySay(t *testing.T) {
	dockertest.NotInShort(t)
	ran, checked := 0, 0
	for _, page := range docsPages(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			for _, b := range docsBlocks(t, page) {
				if b.dir != "" {
					if err := os.CopyFS(dir, os.DirFS(filepath.Join("../..", b.dir))); err != nil {
						t.Fatal(err)
					}
				}
				if b.file != "" {
					docsWrite(t, filepath.Join(dir, b.file), b.text)
				}
				first, _, _ := strings.Cut(b.how, " ")
				switch {
				case strings.HasPrefix(b.how, "shown: "):
				case first == "run":
					docsRun(t, b, dir, "sh", "-euc", b.text)
					ran++
				case first == "checked" && b.lang == "sh":
					docsCommands(t, b)
					checked++
				case first == "checked":
					what := "." // what the page has written belongs together
					if b.file == "" {
						what = fmt.Sprintf("line%d.hcl", b.line)
						docsWrite(t, filepath.Join(dir, what), b.text)
					}
					docsRun(t, b, dir, "assayd", "validate", what)
					checked++
				case first == "settings":
					settings := filepath.Join(t.TempDir(), "assayd.hcl")
					docsWrite(t, settings, b.text)
					docsWrite(t, filepath.Join(dir, "none.hcl"), "locals {}\n")
					docsRun(t, b, dir, "assayd", "validate", "--config", settings, "none.hcl")
					checked++
				}
			}
		})
	}
	if ran < 2 || checked < 5 {
		t.Errorf("%d blocks were run and %d checked: the pages are not read", ran, checked)
	}
}

func docsWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func docsRun(t *testing.T, b docsBlock, dir string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	if argv[0] == "assayd" {
		cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "assayd"), argv[1:]...)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+dir,
		"ANTHROPIC_API_KEY=none", "OPENROUTER_API_KEY=none", "GITHUB_TOKEN=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %s: %v\n%s", b.page, b.line, strings.Join(argv, " "), err, out)
	}
}

// docsCommands fails unless each line of assayd names a command and flags that its help has.
func docsCommands(t *testing.T, b docsBlock) {
	t.Helper()
	for _, line := range strings.Split(b.text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "assayd" {
			continue
		}
		help, err := exec.CommandContext(t.Context(), filepath.Join(bin, "assayd"), words[1], "--help").CombinedOutput()
		if err != nil || !bytes.Contains(help, []byte("assayd "+words[1])) {
			t.Errorf("%s:%d: there is no command %s: %v", b.page, b.line, words[1], err)
		}
		for _, word := range words {
			flag, _, _ := strings.Cut(word, "=")
			if strings.HasPrefix(flag, "--") && !slices.Contains(strings.Fields(string(help)), flag) {
				t.Errorf("%s:%d: %s has no flag %s", b.page, b.line, words[1], flag)
			}
		}
	}
}
