package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// pushAll pushes the result files, and keeps what came of it.
func (s *Syncer) pushAll(ctx context.Context) error {
	s.mu.Lock()
	s.settled = false
	s.mu.Unlock()
	commit, err := s.pushResults(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	said := s.failed
	s.failed = ""
	if err != nil {
		s.failed = err.Error()
	}
	s.mu.Unlock()
	if err != nil {
		if said != err.Error() {
			s.o.Log.Warn("result files cannot be pushed; that is tried again", "branch", s.o.Git.PushResults, "error", err)
		}
		return err
	}
	if commit == "" {
		return nil
	}
	s.o.Log.Info("result files are pushed", "branch", s.o.Git.PushResults, "commit", commit)
	return s.remember(func(m *memory) { m.Results = pushed{commit, time.Now().UTC()} })
}

// pushResults makes a commit of the result files on top of what the branch is at the remote,
// and pushes it. It returns "" where nothing is new. Neither the tree nor its index take
// part.
func (s *Syncer) pushResults(ctx context.Context) (commit string, err error) {
	files, err := s.o.Results(ctx)
	if err != nil || len(files) == 0 {
		return "", err
	}
	err = s.pushing(ctx, refResults, "refs/heads/"+s.o.Git.PushResults, func(head string) error {
		if err := s.commitResults(ctx, files, head); err != nil {
			return err
		}
		commit, err = s.git.Run(ctx, "rev-parse", "--verify", "--quiet", refResults)
		if commit = strings.TrimSpace(commit); err == nil && head != "" {
			if _, same := s.git.Run(ctx, "diff-tree", "--quiet", head, commit); same == nil {
				commit = ""
				return errNothing
			}
		}
		return err
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return commit, err
}

// errNothing ends a push of nothing new.
var errNothing = errors.New("there is nothing to push")

// pushing brings a ref of the remote here, has it changed, and pushes it; again, on top of
// what is there by then, when somebody else was faster. It never forces. change gets the
// commit that was there, "" = none.
func (s *Syncer) pushing(ctx context.Context, mine, theirs string, change func(head string) error) error {
	for try := 1; ; try++ {
		head, err := s.headOf(ctx, mine, theirs)
		if err != nil {
			return err
		}
		if err := change(head); err != nil {
			return err
		}
		_, err = s.ask(ctx, remoteTime, nil, "push", "--quiet", "--no-verify", "origin", mine+":"+theirs)
		if err == nil || try == attempts || !git.Said(err, "[rejected]", "non-fast-forward", "fetch first", "failed to lock", "cannot lock") || ctx.Err() != nil {
			return err
		}
	}
}

// headOf makes our ref what the remote's is, and returns its commit, "" = it has none.
func (s *Syncer) headOf(ctx context.Context, mine, theirs string) (string, error) {
	out, err := s.ask(ctx, askTime, nil, "ls-remote", "--quiet", "origin", theirs)
	if err != nil {
		return "", err
	}
	head := ""
	for line := range strings.Lines(out) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == theirs {
			head = hash
		}
	}
	if head == "" {
		_, err := s.git.Run(ctx, "update-ref", "-d", mine)
		return "", err
	}
	if s.has(ctx, head) {
		_, err := s.git.Run(ctx, "update-ref", mine, head)
		return head, err
	}
	if err := s.bring(ctx, "origin", theirs, mine); err != nil {
		return "", err
	}
	head, err = s.git.Run(ctx, "rev-parse", "--verify", "--quiet", mine)
	return strings.TrimSpace(head), err
}

// commitResults makes our ref a commit of the files as they are now, on top of head.
func (s *Syncer) commitResults(ctx context.Context, files []Result, head string) error {
	read, write := io.Pipe()
	finished := make(chan error, 1)
	go func() {
		err := s.stream(write, files, head)
		write.CloseWithError(err)
		finished <- err
	}()
	_, err := s.git.Within(remoteTime).Feed(ctx, read, "fast-import", "--quiet", "--force", "--done")
	read.CloseWithError(errors.New("the import is over"))
	if told := <-finished; err == nil {
		err = told
	}
	return err
}

// stream writes the commit for git fast-import.
func (s *Syncer) stream(w io.Writer, files []Result, head string) error {
	message := "Results"
	if now := s.recalled().Now.Commit; now != "" {
		message = "Results of " + now
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit %s\ncommitter assayd <assayd@localhost> %d +0000\ndata %d\n%s\n", refResults, time.Now().Unix(), len(message), message)
	if head != "" {
		fmt.Fprintf(&b, "from %s\n", head)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	for _, f := range files {
		if err := s.streamFile(w, f); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "done\n")
	return err
}

func (s *Syncer) streamFile(w io.Writer, r Result) (err error) {
	name, err := filepath.Rel(filepath.Join(s.dir, treeName), r.Path)
	if err != nil || !filepath.IsLocal(name) {
		return errors.Join(err, fmt.Errorf("result file %s is not below the repository", r.Path))
	}
	f, err := os.Open(r.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it is written again soon
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := wholeLines(f)
	if err != nil || size == 0 {
		return err
	}
	if _, err := fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n", strconv.Quote(filepath.ToSlash(name)), size); err != nil {
		return err
	}
	if _, err := io.Copy(w, io.NewSectionReader(f, 0, size)); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// wholeLines is the size of a file without a line that is being written.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		part := buf[:min(end, int64(len(buf)))]
		if _, err := f.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return end - int64(len(part)-i-1), nil
		}
		end -= int64(len(part))
	}
	return 0, nil
}
