package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// stateName is the file of a partial folder that says of what it is a part.
const stateName = "state.json"

// state is what a later call goes on with.
type state struct {
	Revision string // of a dataset of the hub
	Tag      string // of a file
}

// state reads what a former call left; what is not of that revision goes.
func (j *job) state(revision string) (s state, err error) {
	text, err := os.ReadFile(filepath.Join(j.partial, stateName))
	if err == nil && json.Unmarshal(text, &s) == nil && s.Revision == revision {
		return s, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s = state{Revision: revision}
	return s, errors.Join(os.RemoveAll(j.partial), os.MkdirAll(j.partial, 0o700), j.note(s))
}

func (j *job) note(s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(j.partial, stateName), text, 0o600)
}

// get fetches an archive and unpacks it, or one file.
func (j *job) get(ctx context.Context) (r record, err error) {
	was, err := j.state("")
	if err != nil {
		return r, err
	}
	f := &file{url: j.at, part: filepath.Join(j.partial, "file"), size: -1, sum: j.sum, tag: was.Tag, since: j.have.Tag}
	f.noted = func() error { return j.note(state{Tag: f.tag}) }
	done := sizeOfFile(f.part)
	room := j.room()
	if err := room.take(done); err != nil {
		return r, err
	}
	err = j.fill(ctx, f, room, func(n int64) {
		done += n
		j.tell(Progress{Done: done})
	})
	if err != nil {
		return r, err
	}
	sum, err := (&file{}).sumOf(f.part)
	r.Revision, r.Tag = "sha256:"+sum, f.tag
	if err != nil || r.Revision == j.have.Revision {
		return r, err
	}
	if err := errors.Join(os.RemoveAll(j.data()), os.MkdirAll(j.data(), 0o755)); err != nil {
		return r, err
	}
	name := "data"
	if u, err := url.Parse(j.at); err == nil {
		name = path.Base(u.Path)
	}
	if !IsArchive(f.part) && !strings.HasSuffix(strings.ToLower(name), ".tar") {
		return r, os.Rename(f.part, filepath.Join(j.data(), name))
	}
	if r.LeftOut, err = unpack(ctx, f.part, j.data(), j.room()); err != nil {
		return r, fmt.Errorf("unpack it: %w", err)
	}
	return r, os.Remove(f.part)
}
