package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/assayd/assayd/runtime/guest/safefile"
)

// account is a user as the container's own files know it.
type account struct {
	name   string // "" when there is none for the number
	uid    uint32
	gid    uint32
	groups []uint32 // supplementary
	home   string
}

// lookupAccount finds the user of a Config in the passwd and group files of etc: "" is
// root, otherwise a name or uid, optionally with ":" and a group's name or gid. Numbers
// need no entry. With a group there are no supplementary ones, as in other runtimes.
func lookupAccount(etc, user string) (account, error) {
	who, group, grouped := strings.Cut(user, ":")
	if who == "" {
		who = "0"
	}
	a, err := findUser(filepath.Join(etc, "passwd"), who)
	if err != nil {
		return account{}, fmt.Errorf("look up user %q: %w", user, err)
	}
	if err := a.findGroups(filepath.Join(etc, "group"), group, grouped && group != ""); err != nil {
		return account{}, fmt.Errorf("look up user %q: %w", user, err)
	}
	return a, nil
}

// usableHome is home where that is a folder in which the user can make files, as programs
// expect it that keep settings and sessions there. Many images name a user and make no
// folder for it: it gets one below temp, the same at each start. Where that cannot be made
// the agent is started as it is: it may need none.
func (a account) usableHome(home, temp string) string {
	if info, err := os.Stat(home); a.uid == 0 || err == nil && info.IsDir() && a.mayWrite(info) {
		return home
	}
	own := filepath.Join(temp, fmt.Sprintf("home-%d", a.uid))
	if err := os.Mkdir(own, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return home
	}
	if err := os.Lchown(own, int(a.uid), int(a.gid)); err != nil {
		return home
	}
	return own
}

// mayWrite says whether the user can make files in a folder, by its mode.
func (a account) mayWrite(folder os.FileInfo) bool {
	owner, ok := folder.Sys().(*syscall.Stat_t)
	mode := folder.Mode().Perm()
	const write = 0o3 // and enter
	switch {
	case !ok:
		return true
	case owner.Uid == a.uid:
		return mode>>6&write == write
	case owner.Gid == a.gid || slices.Contains(a.groups, owner.Gid):
		return mode>>3&write == write
	}
	return mode&write == write
}

func findUser(file, who string) (account, error) {
	number, isNumber := parseID(who)
	a := account{uid: number, home: "/"}
	found := false
	err := eachEntry(file, 7, func(f []string) {
		uid, okUser := parseID(f[2])
		gid, okGroup := parseID(f[3])
		if found || !okUser || !okGroup || f[0] != who && (!isNumber || uid != number) {
			return
		}
		found = true
		a = account{name: f[0], uid: uid, gid: gid, home: f[5]}
	})
	if err == nil && !found && !isNumber {
		err = errors.New("no such user in the container")
	}
	if a.home == "" {
		a.home = "/"
	}
	if !found && a.uid == 0 {
		a.name, a.home = "root", "/root"
	}
	return a, err
}

func (a *account) findGroups(file, group string, explicit bool) error {
	number, isNumber := parseID(group)
	found := isNumber
	err := eachEntry(file, 4, func(f []string) {
		gid, ok := parseID(f[2])
		switch {
		case !ok:
		case explicit && f[0] == group && !found:
			number, found = gid, true
		case !explicit && a.name != "" && slices.Contains(strings.Split(f[3], ","), a.name):
			a.groups = append(a.groups, gid)
		}
	})
	if err != nil || !explicit {
		return err
	}
	if !found {
		return fmt.Errorf("no group %q in the container", group)
	}
	a.gid = number
	return nil
}

func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return uint32(n), err == nil
}

// accountBytes bounds what is read of a passwd or group file.
const accountBytes = 8 << 20

// eachEntry calls do for each line with at least n fields. A file that is missing has no
// lines.
func eachEntry(file string, n int, do func(fields []string)) error {
	f, err := safefile.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(io.LimitReader(f, accountBytes))
	lines.Buffer(nil, accountBytes)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), ":"); len(fields) >= n {
			do(fields)
		}
	}
	return lines.Err()
}
