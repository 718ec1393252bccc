//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
)

// Who is handed a task in another format has none of our notes: what stands in the files
// themselves is judged, and comes out as the task does.
func TestWhatIsExportedIsJudgedTheSameWithoutOurNote(t *testing.T) {
	t.Parallel()
	judgedWithoutOurNote(t, "swebench")
}

func judgedWithoutOurNote(t *testing.T, formats ...string) {
	t.Helper()
	p := good("letters" + strings.ToLower(containertest.Unique()))
	q := newFakeForge(t, p)
	q.image = q.equipped(p)
	q.write("m.hcl", q.spec("validation { repeats = 1 }"))
	q.serve()
	q.mined(4 * time.Minute)
	solution := q.minedTask(p.task()).Solution.Patch
	q.write("solver/solution.patch", string(solution))
	text := "agent \"solver\" {\n  dir     = \"solver\"\n  command = \"git apply /agent/solution.patch\"\n}\n"
	want := map[string]map[string]string{}
	for _, format := range formats {
		out := filepath.Join(q.TempDir(), format)
		q.ok(slices.Concat([]string{"export", format, q.address(), out}, q.flags)...)
		bare := filepath.Join(q.specs, "bare", format)
		withoutNotes(t, out, bare)
		solves := "oracle"
		switch format {
		case "sforge": // which has no place for a solution
			solves = "solver"
		case "swebench":
			q.tagged(filepath.Join(bare, "instances.jsonl"))
		}
		text += fmt.Sprintf(`
benchmark "%[1]s-%[2]s" {
  import %[2]q {
    path  = "bare/%[2]s"
    image = %[3]q
  }
}
run "bare-%[2]s" {
  tasks   = [benchmark.%[1]s-%[2]s]
  mode    = "single"
  timeout = "5m"
  agent %[4]q {}
  agent "nop" {}
}
`, q.bench, format, q.image, solves)
		want[format] = map[string]string{solves: "resolved", "nop": "unresolved"}
	}
	q.write("bare.hcl", text)
	for _, format := range slices.Sorted(maps.Keys(want)) {
		t.Run(format, func(t *testing.T) {
			got := map[string]string{}
			for _, x := range q.settled("run.bare-"+format, 10*time.Minute).Trials {
				if got[x.Agent] = string(x.Status); got[x.Agent] != want[format][x.Agent] {
					t.Logf("%s: %s %s", x.Agent, x.Reason, x.Detail)
				}
			}
			if diff := cmp.Diff(want[format], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// equipped is the base image with all that foreign files need of one and that would come over
// the network: the repository where SWE-bench's images have it, the forge, and the names of
// the tools that swe-forge installs and no test here uses.
func (q *fakeForge) equipped(p *planted) string {
	q.Helper()
	ref := "assayd-test/equipped:" + strings.ToLower(containertest.Unique())
	build := exec.Command("sh", "-ec", `
		c=$(docker create --network none "$BASE" sh -ec '
			git config --system safe.directory "*"
			git config --system url.file:///forge/.insteadOf https://github.com/
			git clone -q '"/forge/acme/$NAME"' /testbed
			git -C /testbed checkout -q '"$COMMIT"'
			for tool in curl cc make pip3; do
				command -v $tool >/dev/null || ln -s /bin/true /usr/local/bin/$tool
			done')
		trap 'docker rm "$c"' EXIT
		docker cp "$FORGE" "$c:/forge"
		docker start -a "$c"
		docker commit --change 'CMD ["/bin/sh"]' --change "LABEL $LABEL=$OWNER" "$c" "$REF"
	`)
	build.Env = append(os.Environ(), "BASE="+q.image, "NAME="+p.name, "COMMIT="+p.pull.Parents[0], "FORGE="+q.forge,
		"OWNER="+q.owner, "LABEL="+image.LabelImageOwner, "REF="+ref)
	if out, err := build.CombinedOutput(); err != nil {
		q.Fatalf("make an image with the forge: %v\n%s", err, out)
	}
	return ref
}

// tagged gives the image of the rows the name that they call it by.
func (q *fakeForge) tagged(rows string) {
	q.Helper()
	text, err := os.ReadFile(rows)
	if err != nil {
		q.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r struct{ Image string }
		if err := json.Unmarshal(line, &r); err != nil {
			q.Fatal(err)
		}
		if out, err := exec.Command("docker", "tag", q.image, r.Image).CombinedOutput(); err != nil {
			q.Fatalf("name the image of a row: %v\n%s", err, out)
		}
	}
}

// notesInText are where YAML and TOML files have a note; in files of JSON it is a key.
var notesInText = regexp.MustCompile(`(?m)^(\[metadata\.assayd\]\nnote = .*|assayd: .*)\n`)

// withoutNotes copies an export as anybody else could have written it: without the notes that
// tell assayd what the task was before. Of SWE-bench's several files the rows are taken.
func withoutNotes(t *testing.T, from, to string) {
	t.Helper()
	taken := 0
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(from, path) // it is below
		rows, _ := filepath.Glob(filepath.Join(from, "*.jsonl"))
		if len(rows) > 0 && path != rows[0] {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		before := len(text)
		switch filepath.Ext(name) {
		case ".json", ".jsonl":
			text, err = withoutKey(text, "assayd")
		case ".yaml", ".toml":
			text = notesInText.ReplaceAll(text, nil)
		}
		if len(text) < before {
			taken++
		}
		if bytes.Contains(text, []byte("Workdir")) {
			err = errors.Join(err, fmt.Errorf("%s still has a note", name))
		}
		at := filepath.Join(to, name)
		return errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, info.Mode().Perm()))
	})
	if err != nil || taken == 0 {
		t.Fatalf("take the notes out of %s: %d taken, %v", from, taken, err)
	}
}

// withoutKey takes a key out of each of a text's objects.
func withoutKey(text []byte, key string) ([]byte, error) {
	var out bytes.Buffer
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var object map[string]json.RawMessage
		if err := d.Decode(&object); err != nil {
			return nil, err
		}
		delete(object, key)
		if err := json.NewEncoder(&out).Encode(object); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
