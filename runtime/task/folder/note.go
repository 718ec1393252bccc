package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/task"
)

// Note is what a folder in a foreign format keeps so that it can be read back as the task
// that it was written of: what the format has no place for, and the checksums of the files
// that were made of it. It holds only as long as those files are what they were.
type Note struct {
	Task task.Task         `json:"task"`
	Sums map[string]string `json:"sums"`
}

// NewNote is the note of a task. Names of images are left out: in a folder of strangers they
// would claim to be images that they are not.
func NewNote(t task.Task, sums map[string]string) Note {
	return Note{Unnamed(t), sums}
}

// Unnamed is the task without the names that another format gave its images, and without
// the benchmark that it was imported into.
func Unnamed(t task.Task) task.Task {
	t.Benchmark, t.Work.Ref, t.Judge.Ref = "", "", ""
	if t.Base != nil {
		base := *t.Base
		base.Ref = ""
		t.Base = &base
	}
	return t
}

// String is the text of a note.
func (n Note) String() string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return string(text)
}

// Sum is the checksum of a file.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ParseNote reads a note and checks that it is of a task that may be imported.
func ParseNote(text, name string) (Note, error) {
	var n Note
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return Note{}, fmt.Errorf("the note of assayd cannot be read: %w", err)
	}
	if n.Task.Name != name {
		return Note{}, fmt.Errorf("the note of assayd is of another task, %q", n.Task.Name)
	}
	if n.Task.Private != nil || n.Task.Judge.Staged() {
		return Note{}, errors.New("the note of assayd is of a task that no such folder holds")
	}
	n.Task = Unnamed(n.Task)
	if err := CheckNote(n.Task, false); err != nil {
		return Note{}, fmt.Errorf("the note of assayd: %w", err)
	}
	return n, nil
}

// Holds reports what has been changed since the note was written.
func (n Note) Holds(r *Root) error {
	for _, name := range slices.Sorted(maps.Keys(n.Sums)) {
		if !filepath.IsLocal(name) || strings.HasPrefix(name, "=") {
			continue
		}
		content, err := r.Read(name, 64<<20)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s %w", name, err)
		}
		if Sum(content) != n.Sums[name] {
			return Changed(name)
		}
	}
	return nil
}

// Changed says that a note does not hold any more.
func Changed(what string) error {
	return fmt.Errorf("%s was changed since assayd wrote this task; take its note out to have the folder read as it is", what)
}

// TaskName is what the name of a task looks like.
var TaskName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

var platformName = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$`)

// maxTimeout is a bound of what judging may take.
const maxTimeout = 31 * 24 * time.Hour

// Check says what is wrong with a task that strangers have written.
func Check(t task.Task) error {
	switch {
	case !TaskName.MatchString(t.Name):
		return fmt.Errorf("%q is no name for a task", t.Name)
	case !path.IsAbs(t.Workdir) || path.Clean(t.Workdir) == "/" || strings.ContainsAny(t.Workdir, ":\n\x00"):
		return fmt.Errorf("the working folder %q is no absolute path below /", t.Workdir)
	case t.Platform != "" && !platformName.MatchString(t.Platform):
		return fmt.Errorf("the platform %q is not written system/architecture", t.Platform)
	case !slices.Contains([]string{"none", "open", "allow"}, t.Network.Mode):
		return fmt.Errorf("%q is no kind of network", t.Network.Mode)
	case t.Judge.Timeout < 0 || t.Judge.Timeout > maxTimeout:
		return fmt.Errorf("judging may not take %s", t.Judge.Timeout)
	case len(t.Submit.Paths) == 0 && t.Judge.Game == "":
		return errors.New("nothing could be submitted")
	}
	for _, p := range t.Submit.Paths {
		if !filepath.IsLocal(p) {
			return fmt.Errorf("the submitted path %q is not below the working folder", p)
		}
	}
	for _, p := range []task.Part{t.Work, t.Judge.Part} {
		if p.CPUs < 0 || p.Memory < 0 || p.PIDs < 0 || p.Disk < 0 {
			return errors.New("a limit is below zero")
		}
	}
	if at, ok := textual(reflect.ValueOf(t)); !ok {
		return fmt.Errorf("%s is no UTF-8", strings.TrimPrefix(at, "."))
	}
	return nil
}

// textual looks for a text that is no UTF-8: whatever keeps it as JSON would alter it. Patches
// are bytes and may be anything.
func textual(v reflect.Value) (at string, ok bool) {
	switch v.Kind() {
	case reflect.String:
		return "", utf8.ValidString(v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			return textual(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at, ok := textual(v.Field(i)); !ok {
				return "." + v.Type().Field(i).Name + at, false
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				break
			}
			if at, ok := textual(v.Index(i)); !ok {
				return at, false
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if _, ok := textual(key); !ok {
				return "", false
			}
			if _, ok := textual(value); !ok {
				return fmt.Sprintf("[%q]", key), false
			}
		}
	}
	return "", true
}
