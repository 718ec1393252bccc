package folder

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxTest bounds a file that is looked through.
const maxTest = 16 << 20

var absolute = regexp.MustCompile(`(?:^|[\s"'=(\[,:])(/(?:app|data|etc|home|mnt|opt|output|results|root|srv|testbed|tmp|usr/local|var|work|workspace)/[A-Za-z0-9._/-]+)`)

// Elsewhere tells where the tests in some files and folders seem to look that no submission
// reaches: outside of the working folder.
func (f *Findings) Elsewhere(r *Root, workdir string, tests ...string) {
	found := map[string]bool{}
	for _, place := range tests {
		names := []string{place}
		if r.Folder(place) {
			var err error
			if names, err = r.Files(place); err != nil {
				f.Problem("%v", err)
				return
			}
		}
		for _, name := range names {
			text, err := r.Read(name, maxTest)
			if err != nil {
				continue // too large to be a test, or not there
			}
			for _, m := range absolute.FindAllSubmatch(text, 1000) {
				p := path.Clean(string(m[1]))
				if p != workdir && !strings.HasPrefix(p, workdir+"/") {
					found[p] = true
				}
			}
		}
	}
	if len(found) > 0 {
		list := slices.Sorted(maps.Keys(found))
		f.Notice("its tests seem to look outside of %s, at %s; only files in there are judged", workdir, strings.Join(list[:min(5, len(list))], ", "))
	}
}

// AgentTimeout tells how many seconds a task gives its agent, where it says so.
func (f *Findings) AgentTimeout(seconds float64) {
	if seconds > 0 && seconds < 1e9 {
		f.Notice("gives its agent %s; here a run says how long one has (timeout)", time.Duration(seconds*float64(time.Second)))
	}
}
