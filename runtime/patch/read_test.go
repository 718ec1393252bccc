package patch

import (
	"strings"
	"testing"
)

func TestFilesOfABaseAreRead(t *testing.T) {
	t.Parallel()
	b := baseOf(t, New(t.TempDir()), files{"a.txt": "one\n", "in/run": "!x\n", "link": "@a.txt", "empty": "", "big": strings.Repeat("x", maxRead+1)})
	err := b.Read(t.Context(), func(file func(string) ([]byte, bool)) error {
		for name, want := range map[string]string{"a.txt": "one\n", "in/run": "x\n", "link": "", "empty": "", "big": ""} {
			if got, ok := file(name); !ok || string(got) != want {
				t.Errorf("%s is there: %v, and holds %d bytes", name, ok, len(got))
			}
		}
		for _, name := range []string{"b.txt", "in", "", "../a.txt", "/a.txt"} {
			if _, ok := file(name); ok {
				t.Errorf("%q is there", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
