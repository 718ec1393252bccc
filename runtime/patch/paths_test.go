package patch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheNamesInADiff(t *testing.T) {
	t.Parallel()
	diff := `diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,3 @@
 x
--- a/no.py
+++ b/no.py
+z
diff --git a/new.py b/new.py
new file mode 100644
index 0..1
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+diff --git a/no b/no
\ No newline at end of file
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/from.py b/to.py
similarity index 100%
rename from from.py
rename to to.py
diff --git a/with space.bin b/with space.bin
index 1..2 100644
GIT binary patch
literal 1
Ic${MZ0RR910RR91
diff --git "a/caf\303\251.py" "b/caf\303\251.py"
--- "a/caf\303\251.py"
+++ "b/caf\303\251.py"
@@ -1 +1 @@
-a
+b
diff --git a/empty b/empty
new file mode 100644
index 0..e
`
	names, err := Paths([]byte(diff))
	if d := cmp.Diff([]string{"a.py", "café.py", "empty", "from.py", "gone.py", "new.py", "to.py", "with space.bin"}, names); err != nil || d != "" {
		t.Error(err, d)
	}
	added, err := Added([]byte(diff))
	if d := cmp.Diff([]string{"empty", "new.py"}, added); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestTheNamesInAPlainDiff(t *testing.T) {
	t.Parallel()
	diff := "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n" +
		"--- a/x\t2024-01-01\r\n+++ b/x\t2024\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n--- /dev/null\t1970\n+++ b/y\n@@ -0,0 +1 @@\n+b\n"
	names, err := Paths([]byte(diff))
	if d := cmp.Diff([]string{"mode", "x", "y"}, names); err != nil || d != "" {
		t.Error(err, d)
	}
	added, err := Added([]byte(diff))
	if d := cmp.Diff([]string{"y"}, added); err != nil || d != "" {
		t.Error(err, d)
	}
	if added, err := Added([]byte(" \n")); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing adds %q, %v", added, err)
	}
}
