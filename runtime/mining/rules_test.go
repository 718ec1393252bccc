package mining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
)

func TestTheListsOfAFilter(t *testing.T) {
	for name, tc := range map[string]struct {
		file, err string
		want      []string
	}{
		"some":              {"# what is known\n\n acme/shop \nevil/*\n", "", []string{"acme/shop", "evil/*"}},
		"nothing":           {"", "", nil},
		"what is no glob":   {"acme/shop\n\nevil/[\n", `list:3: "evil/[" is no pattern`, nil},
		"it cannot be read": {"-", "no such file", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "list")
			if tc.file != "-" {
				if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			rules, err := RulesOf(config.Filter{ExcludeRepos: config.Names{File: path}, Decontaminate: config.Names{List: []string{"a/["}}})
			switch {
			case tc.err == "" && (err != nil || !cmp.Equal(rules.Decontaminate, []string{"a/["})):
				t.Errorf("%v, %v", rules.Decontaminate, err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("it ends with %v", err)
			}
			if diff := cmp.Diff(tc.want, rules.ExcludeRepos); diff != "" {
				t.Error(diff)
			}
		})
	}
}
