//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

func TestAccountsAreThoseOfTheContainer(t *testing.T) {
	etc := t.TempDir()
	write(t, filepath.Join(etc, "passwd"), "root:x:0:0:root:/root:/bin/sh\nbroken\nagent:x:1000:1001::/home/agent:\nodd:x:-1:7::/:\n9:x:9000:9000::/nine:\nempty:x:5:5:::\n")
	write(t, filepath.Join(etc, "group"), "root:x:0:\nagent:x:1001:\nvideo:x:44:x,agent\ndocker:x:99:agentx\n")
	for _, tt := range []struct {
		user string
		want account
		err  string
	}{
		{user: "", want: account{name: "root", home: "/root"}},
		{user: "agent", want: account{name: "agent", uid: 1000, gid: 1001, groups: []uint32{44}, home: "/home/agent"}},
		{user: "1000", want: account{name: "agent", uid: 1000, gid: 1001, groups: []uint32{44}, home: "/home/agent"}},
		{user: "agent:video", want: account{name: "agent", uid: 1000, gid: 44, home: "/home/agent"}},
		{user: "1000:7", want: account{name: "agent", uid: 1000, gid: 7, home: "/home/agent"}},
		{user: "4242", want: account{uid: 4242, home: "/"}},
		{user: "4242:4343", want: account{uid: 4242, gid: 4343, home: "/"}},
		{user: "0:0", want: account{name: "root", home: "/root"}},
		{user: "9", want: account{name: "9", uid: 9000, gid: 9000, home: "/nine"}},
		{user: "empty", want: account{name: "empty", uid: 5, gid: 5, home: "/"}},
		{user: "odd", err: "no such user"},
		{user: "stranger", err: "no such user"},
		{user: "agent:strangers", err: "no group"},
	} {
		got, err := lookupAccount(etc, tt.user)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.user, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(account{})); diff != "" || err != nil {
			t.Errorf("%q: %v %s", tt.user, err, diff)
		}
	}
	if a, err := lookupAccount(t.TempDir(), "0:0"); err != nil || a.home != "/root" {
		t.Errorf("an image without passwd has no root: %+v, %v", a, err)
	}
}

func TestEnvironmentOfTheAgent(t *testing.T) {
	deadline := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	user := account{name: "agent", uid: 1000, home: "/home/agent"}
	for _, tt := range []struct {
		name    string
		environ []string
		env     map[string]string
		user    account
		want    map[string]string
	}{
		{"the engine's HOME is root's", []string{"HOME=/root", "A=b=c"}, nil, user, map[string]string{"HOME": "/home/agent", "USER": "agent", "A": "b=c"}},
		{"the image's HOME stays", []string{"HOME=/data"}, nil, user, map[string]string{"HOME": "/data", "USER": "agent"}},
		{"the configuration wins", []string{"HOME=/root"}, map[string]string{"HOME": "/root", "USER": "me"}, user, map[string]string{"HOME": "/root", "USER": "me"}},
		{"a number has no name", nil, nil, account{uid: 7, home: "/"}, map[string]string{"HOME": "/", "USER": "7"}},
		{"root", []string{"HOME=/root"}, nil, account{name: "root", home: "/root"}, map[string]string{"HOME": "/root", "USER": "root"}},
	} {
		tt.want["ASSAYD_DEADLINE"] = "2030-01-02T03:04:05Z"
		got := environment(protocol.Config{Env: tt.env}, tt.environ, tt.user, deadline)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestAUserWithoutAHomeGetsOne: an image may name a user and have no folder for it, or one that
// is root's.
func TestAUserWithoutAHomeGetsOne(t *testing.T) {
	temp := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		path := filepath.Join(temp, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	me := account{uid: uint32(os.Getuid()), gid: uint32(os.Getgid())}
	other := account{uid: me.uid + 4242, gid: me.gid + 4242}
	member := account{uid: other.uid, gid: other.gid, groups: []uint32{me.gid}}
	closed, group, open := folder("closed", 0o755), folder("group", 0o770), folder("open", 0o777)
	for _, tt := range []struct {
		name   string
		user   account
		home   string
		usable bool
	}{
		{"its own", me, closed, true},
		{"somebody else's", other, closed, false},
		{"its group's", member, group, true},
		{"another group's", other, group, false},
		{"everybody's", other, open, true},
	} {
		info, err := os.Stat(tt.home)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.user.mayWrite(info); got != tt.usable {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	if home := me.usableHome(closed, temp); home != closed {
		t.Error(home)
	}
	missing := filepath.Join(temp, "missing")
	if home := other.usableHome(missing, missing); home != missing {
		t.Errorf("%s, and none could be made", home)
	}
	if me.uid != 0 {
		other = me // only root makes folders for others
	}
	for range 2 { // each start of the agent finds the same
		home := other.usableHome(missing, temp)
		if info, err := os.Stat(home); err != nil || !other.mayWrite(info) || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", home, info, err)
		}
	}
}

func TestCommandsAreTemplates(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := protocol.Config{Vars: map[string]string{
		"PromptFile": "/p", "Prompt": "do {{.this}}", "Workdir": "/w", "Model": "m", "Effort": "",
	}}
	got, err := render(c, []string{"run", "{{.PromptFile}} {{.Prompt}} {{.Workdir}} {{.Model}}{{.Effort}}", "{{.TimeLeft}}"}, now, now.Add(90*time.Second+time.Millisecond))
	if diff := cmp.Diff([]string{"run", "/p do {{.this}} /w m", "90"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"{{.TimeLef}}", "{{", "{{template \"x\"}}"} {
		if _, err := render(c, []string{bad}, now, now); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
