package output

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/mining/github"
)

// maxPRLine bounds a line of the file of decided pull requests.
const maxPRLine = 1 << 16

var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+$`)

// ReadPRs reads a file of decided pull requests, one {"repo", "pr"} a line, as swe-forge
// writes it. Each comes once, in the order of the file. A line that is none is passed over, as
// is what a crash has cut short. The error is that of reading.
func ReadPRs(r io.Reader) ([]github.Ref, error) {
	var all []github.Ref
	seen := map[github.Ref]bool{}
	in := bufio.NewReaderSize(r, maxPRLine)
	for long := false; ; {
		line, err := in.ReadSlice('\n')
		if ref, ok := parsePR(line); ok && !long && !errors.Is(err, bufio.ErrBufferFull) && !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
		long = errors.Is(err, bufio.ErrBufferFull)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil && !long:
			return all, fmt.Errorf("read the decided pull requests: %w", err)
		}
	}
}

func parsePR(line []byte) (github.Ref, bool) {
	var entry struct {
		Repo string          `json:"repo"`
		PR   json.RawMessage `json:"pr"`
	}
	if json.Unmarshal(line, &entry) != nil || !repoName.MatchString(entry.Repo) {
		return github.Ref{}, false
	}
	n, err := strconv.Atoi(strings.Trim(string(entry.PR), `"`)) // some write it as text
	return github.Ref{Repo: entry.Repo, Number: n}, err == nil && n > 0
}

// AppendPRs adds decided pull requests to a file, which is made with its folder where it is
// missing. They are on the disk on return. To add one twice does no harm.
func AppendPRs(file string, refs ...github.Ref) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add %d to the decided pull requests: %w", len(refs), err)
		}
	}()
	var line []byte
	for _, ref := range refs {
		one, err := json.Marshal(struct {
			PR   int    `json:"pr"`
			Repo string `json:"repo"`
		}{ref.Number, ref.Repo})
		if err != nil {
			return err
		}
		line = append(append(line, one...), '\n')
	}
	if len(line) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { // whoever has it writes whole lines
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' { // a crash cut a line short, which spoils no other
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if size > 0 {
		return nil
	}
	return sync(filepath.Dir(file))
}
