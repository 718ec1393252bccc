package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// command is one start of the agent, ready to be made a process.
type command struct {
	argv    []string
	env     []string
	workdir string
	program string // argv[0] as a path
	user    account
}

// defaultPath is searched when neither image nor configuration has a PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// newCommand prepares a start: argv is Command or Resume of the configuration, environ the
// container's environment, etc the folder of passwd and group.
func newCommand(c protocol.Config, argv, environ []string, etc string, now, deadline time.Time) (command, error) {
	if len(argv) == 0 {
		return command{}, errors.New("the agent has no command")
	}
	user, err := lookupAccount(etc, c.User)
	if err != nil {
		return command{}, err
	}
	args, err := render(c, argv, now, deadline)
	if err != nil {
		return command{}, err
	}
	env := environment(c, environ, user, deadline)
	if c.Env["HOME"] == "" {
		env["HOME"] = user.usableHome(env["HOME"], "/tmp")
	}
	env[protocol.ClockEnv] = wallClock()
	workdir := cmp.Or(c.Workdir, "/")
	if info, err := os.Stat(workdir); err != nil || !info.IsDir() {
		return command{}, fmt.Errorf("the work directory %q is not a directory of the container", workdir)
	}
	program, err := lookPath(args[0], cmp.Or(env["PATH"], defaultPath), workdir)
	if err != nil {
		return command{}, err
	}
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return command{argv: args, env: list, workdir: workdir, program: program, user: user}, nil
}

// render fills the templates of a command line.
func render(c protocol.Config, argv []string, now, deadline time.Time) ([]string, error) {
	vars := maps.Clone(c.Vars)
	if vars == nil {
		vars = map[string]string{}
	}
	vars["TimeLeft"] = strconv.FormatInt(protocol.SecondsLeft(now, deadline), 10)
	args := make([]string, len(argv))
	for i, arg := range argv {
		t, err := template.New("command").Option("missingkey=error").Parse(arg)
		if err != nil {
			return nil, fmt.Errorf("command of the agent: %w", err)
		}
		var b strings.Builder
		if err := t.Execute(&b, vars); err != nil {
			return nil, fmt.Errorf("command of the agent: %w", err)
		}
		args[i] = b.String()
	}
	return args, nil
}

// environment is the container's, then the configuration's. HOME is the user's own unless
// somebody set it on purpose: an engine sets it for root, as whom the guest was started.
func environment(c protocol.Config, environ []string, user account, deadline time.Time) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	if env["HOME"] == "" || env["HOME"] == "/root" && user.uid != 0 {
		env["HOME"] = user.home
	}
	if env["USER"] == "" || env["USER"] == "root" && user.uid != 0 {
		env["USER"] = cmp.Or(user.name, strconv.FormatUint(uint64(user.uid), 10))
	}
	if !deadline.IsZero() {
		env["ASSAYD_DEADLINE"] = deadline.UTC().Format(time.RFC3339)
	}
	maps.Copy(env, c.Env)
	for k, v := range c.Defaults {
		if _, said := env[k]; !said {
			env[k] = v
		}
	}
	if len(c.Path) > 0 {
		env["PATH"] = strings.Join(append([]string{cmp.Or(env["PATH"], defaultPath)}, c.Path...), ":")
	}
	return env
}

// wallClock is the value of protocol.ClockEnv.
func wallClock() string {
	text, _ := json.Marshal(clock.Begin()) // it always encodes
	return string(text)
}

// lookPath finds a program as execvp does, relative names starting from workdir.
func lookPath(name, path, workdir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(workdir, name)
		}
		return name, executable(name)
	}
	for dir := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(workdir, dir)
		}
		if full := filepath.Join(dir, name); name != "" && executable(full) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("command %q not found in the container (PATH is %s)", name, path)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("command %q not found in the container", path)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("command %q cannot be executed", path)
	}
	return nil
}

// spawn starts the command in a session of its own with out as its output and gives its
// pid. The caller reaps it. What it becomes is the first the kernel kills when memory
// runs out: the value is inherited, so there is no moment without it.
func (c command) spawn(out int) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", c.argv[0], err)
	}
	defer null.Close() //nolint:errcheck // only read
	lower, err := raiseOOMScore()
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", c.argv[0], err)
	}
	pid, err = syscall.ForkExec(c.program, c.argv, &syscall.ProcAttr{
		Dir:   c.workdir,
		Env:   c.env,
		Files: []uintptr{null.Fd(), uintptr(out), uintptr(out)},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: c.user.uid, Gid: c.user.gid, Groups: c.user.groups},
		},
	})
	if errLower := lower(); errLower != nil {
		err = errors.Join(err, errLower)
	}
	switch {
	case err == nil:
		return pid, nil
	case errors.Is(err, syscall.ENOENT):
		return 0, fmt.Errorf("start %q: the interpreter that it names is not in the container: %w", c.argv[0], err)
	}
	return 0, fmt.Errorf("start %q as uid %d in %s: %w", c.argv[0], c.user.uid, c.workdir, err)
}

// raiseOOMScore makes this process the kernel's first choice and returns how to undo it.
func raiseOOMScore() (lower func() error, err error) {
	const file = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte("1000"), 0); err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(file, before, 0) }, nil
}
