package mining

import (
	"testing"

	"github.com/assayd/assayd/runtime/mining/diff"
)

// What a patch adds as a new file is read back as it was.
func TestANewFileIsReadBackFromItsPatch(t *testing.T) {
	for _, text := range []string{"", "\n", "one\ntwo\n", "one\ntwo", "+one\n-two\n\\ three\n", "a\r\nb\r\n"} {
		parts, err := diff.Read(newFile("tests/test new.py", text))
		if err != nil || len(parts) != 1 || !parts[0].Fresh || parts[0].Name != "tests/test new.py" {
			t.Fatalf("%q: %+v, %v", text, parts, err)
		}
		if got := added(parts[0]); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}
