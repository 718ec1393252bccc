package mining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/patch"
)

// A patch that makes a file makes it as it is, whatever it is called and has in it.
func TestNewFilesAreMadeByGit(t *testing.T) {
	ctx, home, base := t.Context(), t.TempDir(), t.TempDir()
	g, err := git.New(home, "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(t interface {
		Fatalf(string, ...any)
		Fatal(...any)
	}, name, content string,
	) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		diff := newFile(name, content)
		if _, err := g.In(dir).With("GIT_CEILING_DIRECTORIES="+base).Feed(ctx, strings.NewReader(string(diff)), "apply", "--whitespace=nowarn", "-"); err != nil {
			t.Fatalf("%v of\n%s", err, diff)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != content {
			t.Fatalf("%q, %v of\n%s", got, err, diff)
		}
		if names, err := patch.Paths(diff); err != nil || len(names) != 1 || names[0] != name {
			t.Fatalf("%q, %v of\n%s", names, err, diff)
		}
	}
	for name, content := range map[string]string{
		"tests/test_a.py":         "import a\n",
		"no end.txt":              "a\nb",
		"tests/empty line":        "\n",
		`tests/"quoted" \ back`:   "x\r\ny\r\n",
		"tests/ümlaut\ttab\n.txt": "+++ b/x\n--- a/x\n@@ -0,0 +1 @@\n\\ No newline at end of file\n",
		"a b/b b":                 "diff --git a/x b/x\n",
		"empty":                   "",
	} {
		check(t, name, content)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z"\\ ü\t.]{1,8}x(/[a-z"\\ é]{1,8}y)?`).Draw(t, "name")
		content := rapid.StringMatching(`([ -~\r\tü]{0,10}\n){0,5}[ -~\r]{0,5}`).Draw(t, "content")
		check(t, name, content)
	})
}

func TestTaskNames(t *testing.T) {
	for of, want := range map[github.Ref]string{
		{Repo: "acme/shop", Number: 12}:         "acme-shop-12",
		{Repo: "acme/.github", Number: 1}:       "acme-.github-1",
		{Repo: "-a/b_c.d", Number: 3}:           "a-b_c.d-3",
		{Repo: "a/../../etc\x00ü", Number: 3}:   "a-..-..-etc--3",
		{Repo: "https://x y/z?q=1", Number: 40}: "https-x-y-z-q-1-40",
	} {
		if got := taskName(of); got != want || !filepath.IsLocal(got) || strings.Contains(got, "/") {
			t.Errorf("%q is called %q, want %q", of.String(), got, want)
		}
	}
}
