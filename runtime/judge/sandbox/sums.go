package sandbox

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
)

// comparable reports whether a hidden file has to be after a run what it was before. Runs write
// to databases, logs and what is made of other files; and of what lies in the image and only
// matches a pattern, source alone is compared.
func comparable(name string, laid bool) bool {
	written := []string{
		".db", ".sqlite", ".sqlite3", ".log", ".lock", ".pid", ".tmp", ".cache", ".out", ".pyc", ".pyo", ".class", ".o", ".a", ".so", ".coverage",
	}
	source := []string{
		".py", ".go", ".rs", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".java", ".kt", ".groovy", ".scala", ".rb", ".php", ".sh", ".pl",
		".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".cs", ".swift", ".bats", ".t",
	}
	made := []string{"__pycache__", "node_modules", "target", "build", "dist", "out", ".git", ".tox", ".venv", "vendor"}
	if slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(made, dir) }) && !laid {
		return false
	}
	ext := path.Ext(name)
	return slices.Contains(source, ext) || laid && !slices.Contains(written, ext)
}

// digest takes the digest of a hidden file of the image that has to stay what it is: of its
// content where that was read, else of what is left of the stream.
func (p *Profile) digest(r io.Reader, name string, content []byte, laid bool) error {
	if !comparable(name, laid) {
		return nil
	}
	sum := sha256.New()
	if content != nil {
		sum.Write(content)
	} else if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if p.Sums == nil {
		p.Sums = map[string]string{}
	}
	p.Sums[name] = text(sum)
	return nil
}

func text(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// expecting reads a small Python file of the judge image, and takes note of it where it expects
// a test to fail. Content is nil where the file is another, or not read.
func (p *Profile) expecting(h *tar.Header, r io.Reader, name string) (content []byte, err error) {
	if h.Typeflag != tar.TypeReg || h.Size > maxHiddenFile || path.Ext(name) != ".py" {
		return nil, nil
	}
	if content, err = io.ReadAll(r); err != nil {
		return nil, err
	}
	if bytes.Contains(content, []byte("xfail")) || bytes.Contains(content, []byte("expectedFailure")) {
		if p.Expecting == nil {
			p.Expecting = map[string]bool{}
		}
		p.Expecting[name] = true
	}
	return content, nil
}
