package mining

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/mining/diff"
	"github.com/assayd/assayd/runtime/mining/extract"
)

// maxTestFiles bounds the files of a task's hidden tests that are kept beside the patch, in bytes of
// all of them. swe-forge's harness needs them, and nothing else does.
const maxTestFiles = 1 << 20

// testFiles are the files of the hidden tests as the patch makes them. What is removed has none, and
// there are none where they have too many bytes or one is no text.
func (k *pipeline) testFiles(ctx context.Context) (map[string]string, error) {
	parts, err := diff.Read(k.task.Judge.Patch)
	if err != nil {
		return nil, nil // such a patch has been proved all the same
	}
	defer k.m.spent.since(onGit, time.Now())
	files, size := map[string]string{}, 0
	for _, part := range parts {
		text, there, err := k.testFile(ctx, part)
		if err != nil {
			return nil, err
		}
		if size += len(text); size > maxTestFiles || !utf8.ValidString(text) {
			return nil, nil
		}
		if there {
			files[part.Name] = text
		}
	}
	return files, nil
}

// testFile is a file that a part of the patch makes: what it adds, or what is at the merge.
func (k *pipeline) testFile(ctx context.Context, part diff.File) (text string, there bool, err error) {
	if part.Fresh {
		return added(part), true, nil
	}
	content, err := k.m.o.Repos.File(ctx, k.repository().Repo, k.change.Merge, part.Name)
	if _, away := errors.AsType[*extract.Unavailable](err); away || ctx.Err() != nil {
		return "", false, err
	}
	return string(content), err == nil, nil // what is gone, or too long to be read, is not there
}

// added is the content of a file that is new.
func added(part diff.File) string {
	var b strings.Builder
	for _, hunk := range part.Hunks {
		for _, line := range hunk.Body {
			if text, ok := strings.CutPrefix(line, "+"); ok {
				b.WriteString(text)
			} else { // there is no newline at the end
				whole := strings.TrimSuffix(b.String(), "\n")
				b.Reset()
				b.WriteString(whole)
			}
		}
	}
	return b.String()
}
