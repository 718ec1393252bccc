package patch

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/untar"
)

// Bounds of a tree.
const (
	maxEntries = 4 << 20
	maxContent = 64 << 30
	maxTarget  = 4096    // of a link
	maxRules   = 1 << 20 // of one .gitignore
)

// Modes as Git has them.
const (
	modeFile   = "100644"
	modeRun    = "100755"
	modeLink   = "120000"
	modeModule = "160000"
)

// takeTime is what reading one tree may take.
const takeTime = time.Hour

// entry is a file of a tree that is read; one without a mode says that nothing is there.
type entry struct {
	mode  string
	mark  int // of its content
	order int // a later one wins
}

// intake reads a tree out of a hostile tar. Content goes to Git as it comes; where it
// belongs is told at the end.
type intake struct {
	to      io.Writer // git fast-import
	scope   scope
	entries map[string]entry
	rules   map[string][]byte // content of .gitignore files
	seen    int
	room    int64
	marks   int
}

// scope is a list of paths that all lies below.
type scope []string

// newScope cleans paths relative to the top of a tree; "." is all of it, and so is none.
func newScope(paths []string) (scope, error) {
	var s scope
	for _, p := range paths {
		if p = path.Clean(p); !filepath.IsLocal(p) {
			return nil, fmt.Errorf("the path %q is not below the tree", p)
		}
		s = append(s, p)
	}
	if len(s) == 0 || slices.Contains(s, ".") {
		return scope{"."}, nil
	}
	return s, nil
}

func (s scope) all() bool { return s[0] == "." }

func (s scope) holds(name string) bool {
	return s.all() || slices.ContainsFunc(s, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// read takes all files of the tar. A folder counts for nothing but that no file has its
// name; what is neither file nor link, and what is Git's own, is left out.
func (in *intake) read(tr *tar.Reader) error {
	var own error
	err := untar.Each(tr, maxEntries, func(h *tar.Header) error {
		own = in.visit(h, tr)
		return own
	})
	if err == nil || own != nil || errors.Is(err, untar.ErrEmpty) {
		return own
	}
	return fmt.Errorf("read the tree: %w", err)
}

func (in *intake) visit(h *tar.Header, content io.Reader) error {
	in.seen++
	name, err := untar.Local(h.Name)
	if err != nil {
		return fmt.Errorf("the tree has the entry %.200q, which is not below its top", h.Name)
	}
	if name == "." || gits(name) || !in.scope.holds(name) {
		return nil
	}
	if err := in.take(name, h, content); err != nil {
		return fmt.Errorf("%.200q of the tree: %w", name, err)
	}
	return nil
}

// gits reports whether a name is that of Git's own folder, or below it; in a file system
// that tells no upper case it would be, so Git refuses all spellings.
func gits(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

func (in *intake) take(name string, h *tar.Header, content io.Reader) (err error) {
	e := entry{order: in.seen}
	switch {
	case Removes(h):
	case h.Typeflag == tar.TypeDir:
		delete(in.entries, name)
		return nil
	case h.Typeflag == tar.TypeReg:
		e.mode = modeFile
		if h.Mode&0o100 != 0 {
			e.mode = modeRun
		}
		if path.Base(name) == ".gitignore" && h.Size <= maxRules {
			if in.rules[name], err = io.ReadAll(content); err != nil {
				return err
			}
			content = bytes.NewReader(in.rules[name])
		}
		e.mark, err = in.blob(h.Size, content)
	case h.Typeflag == tar.TypeSymlink:
		if strings.EqualFold(path.Base(name), ".gitmodules") {
			return nil // Git takes no such link
		}
		if len(h.Linkname) > maxTarget {
			return fmt.Errorf("the link leads to a path of %d bytes", len(h.Linkname))
		}
		e.mode = modeLink
		e.mark, err = in.blob(int64(len(h.Linkname)), strings.NewReader(h.Linkname))
	case h.Typeflag == tar.TypeLink:
		of, ok := in.entries[path.Clean(h.Linkname)]
		if !ok || of.mode == "" {
			return nil // what it is a name of is not of the tree
		}
		e.mode, e.mark = of.mode, of.mark
		if rules, ok := in.rules[path.Clean(h.Linkname)]; ok && path.Base(name) == ".gitignore" {
			in.rules[name] = rules
		}
	default:
		return nil
	}
	in.entries[name] = e
	return err
}

// blob hands content to Git and returns its mark.
func (in *intake) blob(size int64, content io.Reader) (int, error) {
	if in.room -= size; in.room < 0 {
		return 0, fmt.Errorf("the tree has more than %d bytes", int64(maxContent))
	}
	in.marks++
	if _, err := fmt.Fprintf(in.to, "blob\nmark :%d\ndata %d\n", in.marks, size); err != nil {
		return 0, err
	}
	if _, err := io.CopyN(in.to, content, size); err != nil {
		return 0, err
	}
	_, err := io.WriteString(in.to, "\n")
	return in.marks, err
}

// settle leaves what a file system would have after all entries, in their order: no file
// is below another one.
func (in *intake) settle() {
	gone := map[string]bool{}
	for name, e := range in.entries {
		if e.mode == "" {
			gone[name] = true
		}
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			a, ok := in.entries[above]
			switch {
			case !ok:
			case a.order > e.order:
				gone[name] = true
			case e.mode != "":
				gone[above] = true
			}
		}
	}
	for name := range gone {
		delete(in.entries, name)
		delete(in.rules, name)
	}
}

// take makes the files of a tar that are in the scope the tree of the repository. compose,
// if not nil, may say once all of them are known what tree the rest is of, and leave some out.
func (r *repository) take(ctx context.Context, tree io.Reader, s scope, compose func(*intake) (rest string, err error)) error {
	read, write := io.Pipe()
	finished := make(chan error, 1)
	go func() { // ends at the latest when the reading end is closed below
		buffered := bufio.NewWriterSize(write, 64<<10)
		in := &intake{to: buffered, scope: s, entries: map[string]entry{}, rules: map[string][]byte{}, room: maxContent}
		err := in.stream(tar.NewReader(tree), compose)
		if err == nil {
			err = buffered.Flush()
		}
		write.CloseWithError(err)
		finished <- err
	}()
	_, err := r.git.Within(takeTime).Feed(ctx, read, "fast-import", "--quiet", "--force", "--done", "--depth=0")
	read.CloseWithError(errOver)
	if told := <-finished; told != nil && !errors.Is(told, errOver) {
		return told
	}
	return err
}

// errOver ends the writing to a command that is over.
var errOver = errors.New("the import is over")

// stream writes all that git fast-import needs.
func (in *intake) stream(tr *tar.Reader, compose func(*intake) (string, error)) error {
	if err := in.read(tr); err != nil {
		return err
	}
	in.settle()
	rest := ""
	if compose != nil {
		var err error
		if rest, err = compose(in); err != nil {
			return err
		}
	}
	fmt.Fprintf(in.to, "commit %s\ncommitter assayd <assayd@localhost> 0 +0000\ndata 0\n", head)
	if rest != "" && !in.scope.all() {
		fmt.Fprintf(in.to, "M 040000 %s \"\"\n", rest)
		for _, p := range in.scope {
			fmt.Fprintf(in.to, "D %s\n", quoted(p))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.entries)) {
		e := in.entries[name]
		fmt.Fprintf(in.to, "M %s :%d %s\n", e.mode, e.mark, quoted(name))
	}
	_, err := io.WriteString(in.to, "done\n") // also that of any write before, which the buffer keeps
	return err
}

// quoted is a path as git fast-import reads it, whatever bytes it has.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
