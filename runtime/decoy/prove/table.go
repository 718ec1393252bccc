package prove

import (
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/decoy"
)

// Table is the table of parsers for people, in Markdown: of which language decoys are, or why there
// are none, and whether they are held against a stock forger.
func Table() string {
	var b strings.Builder
	b.WriteString("| parser | decoys | stock forger |\n|---|---|---|\n")
	for _, s := range decoy.Table() {
		if s.Language == "" {
			fmt.Fprintf(&b, "| `%s` | none (%s) | |\n", s.Parser, s.Reason)
			continue
		}
		forger := "none"
		if Forges(s.Language) {
			forger = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Parser, languageTitle(s.Language), forger)
	}
	return b.String()
}

func languageTitle(name string) string {
	switch name {
	case "javascript":
		return "JavaScript, TypeScript"
	case "":
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
