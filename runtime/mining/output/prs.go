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
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/mining/github"
)

// maxPRLine bounds a line of the file of decided pull requests.
const maxPRLine = 1 << 16

var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+$`)

// PR is an entry of the list of decided pull requests.
type PR struct {
	github.Ref
	// Class is easy, medium or hard where the pull request was not wanted for its class alone: a spec that
	// wants such ones may take it. "" = nobody wants it again.
	Class string
}

// ReadPRs reads a file of decided pull requests, one {"repo", "pr"} a line, as swe-forge
// writes it, some with a "classification". Each comes once, in the order of the file, with the last class
// that it has, or none if one of its entries has none. A line that is none is passed over, as
// is what a crash has cut short. The error is that of reading.
func ReadPRs(r io.Reader) ([]PR, error) {
	var all []PR
	at := map[github.Ref]int{}
	in := bufio.NewReaderSize(r, maxPRLine)
	for long := false; ; {
		line, err := in.ReadSlice('\n')
		if pr, ok := parsePR(line); ok && !long && !errors.Is(err, bufio.ErrBufferFull) {
			if i, seen := at[pr.Ref]; !seen {
				at[pr.Ref] = len(all)
				all = append(all, pr)
			} else if all[i].Class != "" {
				all[i].Class = pr.Class
			}
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

func parsePR(line []byte) (PR, bool) {
	var entry struct {
		Repo  string          `json:"repo"`
		PR    json.RawMessage `json:"pr"`
		Class any             `json:"classification"`
	}
	if json.Unmarshal(line, &entry) != nil || !repoName.MatchString(entry.Repo) {
		return PR{}, false
	}
	class, _ := entry.Class.(string)
	if !slices.Contains([]string{"easy", "medium", "hard"}, class) {
		class = ""
	}
	n, err := strconv.Atoi(strings.Trim(string(entry.PR), `"`)) // some write it as text
	return PR{github.Ref{Repo: entry.Repo, Number: n}, class}, err == nil && n > 0
}

// AppendPRs adds decided pull requests to a file, which is made with its folder where it is
// missing. They are on the disk on return. To add one twice does no harm.
func AppendPRs(file string, prs ...PR) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add %d to the decided pull requests: %w", len(prs), err)
		}
	}()
	var line []byte
	for _, pr := range prs {
		one, err := json.Marshal(struct {
			PR    int    `json:"pr"`
			Repo  string `json:"repo"`
			Class string `json:"classification,omitempty"`
		}{pr.Number, pr.Repo, pr.Class})
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
