package judgecmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// differs stands before the name of the first file that Compare finds changed.
const differs = "differs: "

// Compare holds files below dir against a list of SHA-256 digests, each followed by a space, a
// relative path and a NUL, and tells out of the first file that is another, a link, or gone. No
// link that leads out of dir is followed.
func Compare(dir string, list io.Reader, out io.Writer) (err error) {
	text, err := io.ReadAll(io.LimitReader(list, maxRemovals+1))
	if err != nil {
		return fmt.Errorf("read what to compare: %w", err)
	}
	if len(text) > maxRemovals {
		return errors.New("the list of what to compare is too long")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{0})
		text = rest
		want, name, _ := bytes.Cut(line, []byte{' '})
		if sumOf(root, string(name)) != string(want) {
			_, err := fmt.Fprintf(out, "%s%s\n", differs, name)
			return err
		}
	}
	return nil
}

// sumOf is the digest of a regular file, "" for what is none or cannot be read.
func sumOf(root *os.Root, name string) string {
	if !fs.ValidPath(name) {
		return ""
	}
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
