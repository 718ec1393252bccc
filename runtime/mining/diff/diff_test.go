package diff

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhatIsNoDiff(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		files string // that could be read all the same
	}{
		"text":               {"hello\n", ""},
		"no header":          {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", ""},
		"a hunk cut short":   {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n", "x:2"},
		"a line of no hunk":  {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nwhat\n", "x:2"},
		"a head of no hunk":  {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ one +1 @@\n-a\n+b\n", "x:0"},
		"counts without end": {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,99999999999 +1 @@\n-a\n+b\n", "x:0"},
		"counts that lie":    {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "x:2 y:2"},
	} {
		files, err := Read([]byte(tt.text))
		var got []string
		for _, f := range files {
			lines := 0
			for _, h := range f.Hunks {
				lines += len(h.Body)
			}
			got = append(got, f.Name+":"+string(rune('0'+lines)))
		}
		if err == nil || strings.Join(got, " ") != tt.files {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	for head, want := range map[string]string{
		"diff --git a/x b/x\n":                                                      "x",
		"diff --git a/x y b/x y\n":                                                  "x y",
		"diff --git a/x b/y b/x b/y\n":                                              "x b/y",
		"diff --git \"a/\\303\\274\" \"b/\\303\\274\"\n":                            "ü",
		"diff --git \"a/x b/y\\t\" b/z\n":                                           "z",
		"diff --git a/x \"b/y\\t\"\n":                                               "y\t",
		"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n":   "y",
		"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n":    "x",
		"diff --git a/x b/x\n--- a/x y\t\n+++ b/x y\t\n":                            "x y",
		"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\\"\"\n": `"`,
	} {
		files, err := Read([]byte(head))
		if err != nil || len(files) != 1 || files[0].Name != want {
			t.Errorf("%q: %+v, %v", head, files, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ def f():\n a\n-b\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git \"a/\\\" b\nrename to \"\n@@ -1,99999999999999999999 +1 @@\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := Read(text)
		if err != nil {
			return
		}
		var all []byte
		for _, f := range files {
			all = append(all, f.Bytes()...)
		}
		again, err := Read(all)
		if err != nil || len(again) != len(files) {
			t.Fatalf("%d files became %d: %v", len(files), len(again), err)
		}
		for i, f := range again {
			if f.Name != files[i].Name || !bytes.Equal(f.Bytes(), files[i].Bytes()) {
				t.Errorf("%+v became %+v", files[i], f)
			}
		}
	})
}
