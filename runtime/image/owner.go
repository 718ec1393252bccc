package image

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// isRoot reports whether a user, as images name them, is root.
func isRoot(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	return name == "" || name == "0" || name == "root"
}

// handOver gives workdir and all that is in it to the user that the image runs as. It needs
// no program in the image: what belongs to somebody else is taken out and put back.
func (s *buildStep) handOver(ctx context.Context) error {
	if s.recipe.Role == container.RoleBase || isRoot(s.config.User) {
		return nil
	}
	if s.recipe.Dockerfile != "" && s.recipe.User == "" {
		return nil // it says itself what belongs to whom
	}
	if path.Clean(s.recipe.Workdir) == "/" {
		return nil // the whole system stays what it is
	}
	uid, gid, err := s.ids(ctx, s.config.User)
	if err != nil {
		return err
	}
	spool, err := s.b.mirrors.Spool()
	if err != nil {
		return fmt.Errorf("hand workdir over: %w", err)
	}
	defer os.Remove(spool.Name())
	defer spool.Close()

	n, err := s.strangers(ctx, spool, uid, gid)
	if err != nil {
		return fmt.Errorf("hand %s over to %s: %w", s.recipe.Workdir, s.config.User, err)
	}
	fault.Reached(fault.WorkdirTaken)
	if n == 0 {
		return nil
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := s.b.copier.CopyTo(ctx, s.id, path.Dir(s.recipe.Workdir), spool); err != nil {
		return fmt.Errorf("hand %s over to %s: %w", s.recipe.Workdir, s.config.User, err)
	}
	return nil
}

// strangers writes what in workdir belongs to anybody else to w, as if it belonged to uid
// and gid, and returns the number of entries.
func (s *buildStep) strangers(ctx context.Context, w io.Writer, uid, gid int) (int, error) {
	rc, err := s.b.copier.CopyFrom(ctx, s.id, s.recipe.Workdir)
	if err != nil {
		return 0, err
	}
	defer rc.Close()
	tr, tw := tar.NewReader(rc), tar.NewWriter(w)
	n := 0
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return n, tw.Close()
		}
		if err != nil {
			return n, err
		}
		if h.Uid == uid && h.Gid == gid {
			continue // names of one inode agree here, so no hard link loses its target
		}
		h.Uid, h.Gid, h.Uname, h.Gname = uid, gid, "", ""
		h.Format = tar.FormatPAX
		if err := tw.WriteHeader(h); err != nil {
			return n, err
		}
		if _, err := io.Copy(tw, tr); err != nil {
			return n, err
		}
		n++
	}
}

// ids finds the numbers of a user: "uid", "uid:gid", or names, which the image must know.
func (s *buildStep) ids(ctx context.Context, user string) (uid, gid int, err error) {
	name, group, hasGroup := strings.Cut(user, ":")
	passwd, err := s.lines(ctx, "/etc/passwd")
	if err != nil {
		return 0, 0, err
	}
	uid, gid, known := lookUp(passwd, name)
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		uid, known = n, true
	}
	if !known {
		return 0, 0, fmt.Errorf("user %q is not in /etc/passwd of the image", name)
	}
	if !hasGroup {
		return uid, gid, nil
	}
	if n, err := strconv.Atoi(group); err == nil && n >= 0 {
		return uid, n, nil
	}
	groups, err := s.lines(ctx, "/etc/group")
	if err != nil {
		return 0, 0, err
	}
	if gid, _, known = lookUp(groups, group); !known {
		return 0, 0, fmt.Errorf("group %q is not in /etc/group of the image", group)
	}
	return uid, gid, nil
}

// lookUp finds the line of a name, or of a number, in the text of passwd or group, and
// returns its third and fourth field where they are numbers.
func lookUp(lines []string, name string) (third, fourth int, ok bool) {
	for _, l := range lines {
		f := strings.Split(l, ":")
		if len(f) < 4 || (f[0] != name && f[2] != name) {
			continue
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || n < 0 {
			continue
		}
		m, err := strconv.Atoi(f[3])
		if err != nil || m < 0 {
			m = 0 // the members of a group
		}
		return n, m, true
	}
	return 0, 0, false
}

// maxAccounts bounds what is read of passwd and group.
const maxAccounts = 1 << 20

// lines returns the lines of a regular file of the image; none when it is not there.
func (s *buildStep) lines(ctx context.Context, name string) ([]string, error) {
	rc, err := s.b.copier.CopyFrom(ctx, s.id, name)
	if errors.Is(err, container.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of the image: %w", name, err)
	}
	defer rc.Close()
	tr := tar.NewReader(rc)
	h, err := tr.Next()
	if err != nil {
		return nil, fmt.Errorf("read %s of the image: %w", name, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("%s of the image is not a regular file", name)
	}
	var lines []string
	sc := bufio.NewScanner(io.LimitReader(tr, maxAccounts))
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	return lines, sc.Err()
}
