package sandbox

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

// lookupUser turns "name", "uid" and both with ":group" into numbers, by the image's own
// files. An empty user is root; one that they do not have is an *ImageError.
func (h *Host) lookupUser(ctx context.Context, id, user string) (uid, gid int, err error) {
	name, group, _ := strings.Cut(user, ":")
	if name == "" || name == "root" || name == "0" {
		name = "0"
	}
	uid, err = strconv.Atoi(name)
	numeric := err == nil
	if numeric && uid == 0 && group == "" {
		return 0, 0, nil
	}
	users, err := h.table(ctx, id, "/etc/passwd")
	if err != nil {
		return 0, 0, err
	}
	found := numeric
	for _, f := range users {
		if len(f) >= 4 && (f[0] == name || numeric && f[2] == name) {
			uid, _ = strconv.Atoi(f[2])
			gid, _ = strconv.Atoi(f[3])
			found = true
			break
		}
	}
	if !found {
		return 0, 0, &ImageError{"judge.user", fmt.Errorf("user %q is not in /etc/passwd of the image", name)}
	}
	if group == "" {
		return uid, gid, nil
	}
	if gid, err = strconv.Atoi(group); err == nil {
		return uid, gid, nil
	}
	groups, err := h.table(ctx, id, "/etc/group")
	if err != nil {
		return 0, 0, err
	}
	for _, f := range groups {
		if len(f) >= 3 && f[0] == group {
			gid, _ = strconv.Atoi(f[2])
			return uid, gid, nil
		}
	}
	return 0, 0, &ImageError{"judge.user", fmt.Errorf("group %q is not in /etc/group of the image", group)}
}

// table reads a colon-separated file of the container; one that is absent is empty.
func (h *Host) table(ctx context.Context, id, name string) ([][]string, error) {
	files, err := h.Fetch(ctx, id, name, 1<<20)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	lines := bufio.NewScanner(strings.NewReader(string(files[path.Base(name)])))
	for lines.Scan() {
		rows = append(rows, strings.Split(lines.Text(), ":"))
	}
	return rows, lines.Err()
}

// Fetch reads the regular files at or below a path of the container, by name from the
// path's last element on, up to max bytes in all. A path that is absent is no file.
func (h *Host) Fetch(ctx context.Context, id, name string, max int64) (_ map[string][]byte, err error) {
	stream, err := h.Copier.CopyFrom(ctx, id, name)
	if errors.Is(err, container.ErrNotFound) {
		if _, gone := h.Engine.Inspect(ctx, id); gone != nil {
			return nil, gone
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	files := map[string][]byte{}
	r := tar.NewReader(io.LimitReader(stream, 4*max+1<<20)) // files that are left out are read, too
	for len(files) < 1000 {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg || h.Size > max {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		max -= h.Size
		files[strings.TrimPrefix(path.Clean("/"+h.Name), "/")] = content
	}
	return files, nil
}
