package client

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/guest/safefile"
	"github.com/assayd/assayd/runtime/guest/worktree"
)

// archive is what is submitted: the paths below dir that exist, without .git and without
// what an exclusion matches.
type archive struct {
	dir     string
	paths   []string
	exclude []*regexp.Regexp
}

// newArchive reads paths as words, which may be globs, and exclusions as the flags of tar.
func newArchive(dir, paths, flags string) (archive, error) {
	a := archive{dir: dir}
	words := strings.Fields(paths)
	if len(words) == 0 {
		words = []string{"."}
	}
	for _, w := range words {
		if !filepath.IsLocal(filepath.Clean(w)) {
			return a, fmt.Errorf("submit path %q is not below %s", w, dir)
		}
	}
	a.paths = worktree.Paths(dir, words)
	for _, pattern := range excludePatterns(flags) {
		re, err := regexp.Compile(excludeExpression(pattern))
		if err != nil {
			return a, fmt.Errorf("exclusion %q: %w", pattern, err)
		}
		a.exclude = append(a.exclude, re)
	}
	return a, nil
}

// excludePatterns takes the patterns out of "--exclude=a --exclude b"; bare words are
// patterns too, and quotes around one are a shell's.
func excludePatterns(flags string) (patterns []string) {
	for word := range strings.FieldsSeq(flags) {
		word = strings.TrimPrefix(word, "--exclude")
		word = strings.Trim(strings.TrimPrefix(word, "="), `'"`)
		if word = strings.TrimSuffix(word, "/"); word != "" {
			patterns = append(patterns, strings.TrimPrefix(word, "./"))
		}
	}
	return patterns
}

// excludeExpression translates a pattern of tar: it may begin at any component, and * and
// ? match slashes as well.
func excludeExpression(glob string) string {
	var b strings.Builder
	b.WriteString(`(?s)(^|/)`)
	runes := []rune(glob)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '[':
			class, n := bracket(runes[i:])
			b.WriteString(class)
			i += n - 1
		case '\\':
			if i+1 < len(runes) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("$")
	return b.String()
}

// bracket translates a bracket expression at the start of glob and gives its length. A
// bracket that is not closed is an ordinary character, and so is what makes no sense.
func bracket(glob []rune) (expression string, n int) {
	first := 1 // a closing bracket right here belongs to the set
	negated := len(glob) > 1 && (glob[1] == '!' || glob[1] == '^')
	if negated {
		first = 2
	}
	end := -1
	if len(glob) > first+1 {
		end = slices.Index(glob[first+1:], ']')
	}
	if end < 0 {
		return `\[`, 1
	}
	end += first + 1
	set := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(string(glob[first:end]))
	expression = "[" + set + "]"
	if negated {
		expression = "[^" + set + "]"
	}
	if _, err := regexp.Compile(expression); err != nil {
		return `\[`, 1
	}
	return expression, end + 1
}

// writeTo writes the archive as gzip-compressed tar.
func (a archive) writeTo(w io.Writer) error {
	zip := gzip.NewWriter(w)
	pack := tar.NewWriter(zip)
	for _, path := range a.paths {
		err := filepath.WalkDir(filepath.Join(a.dir, path), func(path string, d fs.DirEntry, err error) error {
			return a.visit(pack, path, d, err)
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(pack.Close(), zip.Close())
}

func (a archive) visit(pack *tar.Writer, path string, d fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since its folder was read
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(a.dir, path)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	if d.Name() == ".git" || slices.ContainsFunc(a.exclude, func(re *regexp.Regexp) bool { return re.MatchString(name) }) {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	info, err := d.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return addFile(pack, name, path)
	case info.IsDir(), info.Mode()&fs.ModeSymlink != 0:
		return addName(pack, name, path, info)
	}
	return nil // sockets, pipes and devices are no work
}

// addName adds a folder or a symbolic link.
func addName(pack *tar.Writer, name, path string, info fs.FileInfo) error {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := header(info, name, target)
	if err != nil {
		return err
	}
	return pack.WriteHeader(h)
}

// addFile adds a regular file as long as it is when opened: what grows meanwhile is cut,
// what shrinks is filled up with zeros.
func addFile(pack *tar.Writer, name, path string) error {
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h, err := header(info, name, "")
	if err != nil {
		return err
	}
	if err := pack.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyN(pack, f, info.Size())
	if errors.Is(err, io.EOF) {
		_, err = io.CopyN(pack, zeros{}, info.Size()-n)
	}
	return err
}

// header describes a member without owner: who the agent's user was is of no interest.
func header(info fs.FileInfo, name, target string) (*tar.Header, error) {
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return nil, err
	}
	h.Name = name
	if info.IsDir() {
		h.Name += "/"
	}
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	return h, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
