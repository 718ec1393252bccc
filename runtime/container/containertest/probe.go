package containertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Probe is what the probe program does, for the first process of a fake's container:
//
//	sleep D         wait; on SIGTERM exit with 143
//	stubborn D      wait; ignore SIGTERM
//	exit N          exit with N
//	write FILE TEXT write a file
//	cat FILE        print a file; exit with 70 without one
//	echo WORD...    print to standard output
//	complain WORD.. print to standard error
//	spew N          print N bytes
//	stdin           print standard input
//	env NAME        print an environment variable
//	pwd, id         print the working directory, the user and group
//	orphan D        leave a child that keeps standard output open for D
//	count FILE      add one to the number in the file and exit with it
//	ticks FILE      change the file every few milliseconds for ever
//	babble          print a line every few milliseconds for ever
//	hog N           use N bytes of memory
//	links           print the names of the network interfaces
//	terminal        print the size of the terminal for each line of input, as in "80x24", or
//	                "none"; the line "exit" ends it with 3
//	cpus            print where it may run, as in "0-2,5"
func Probe(ctx context.Context, c *FakeContainer) int {
	w := c.Workload()
	return probe(ctx, c, container.Command{
		Argv: w.Argv, Env: w.Env, User: w.User, Workdir: w.Workdir,
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
	})
}

// ProbeExec is what the probe program does in an Exec on a fake.
func ProbeExec(ctx context.Context, c *FakeContainer, cmd container.Command) int {
	return probe(ctx, c, cmd)
}

func probe(ctx context.Context, c *FakeContainer, cmd container.Command) int {
	argument := func(i int) string {
		if i < len(cmd.Argv) {
			return cmd.Argv[i]
		}
		return ""
	}
	switch argument(1) {
	case "sleep":
		return nap(ctx, argument(2), c.Terminated())
	case "stubborn":
		return nap(ctx, argument(2), nil)
	case "exit", "hog":
		n, err := strconv.Atoi(argument(2))
		if err != nil {
			return 70
		}
		if argument(1) == "exit" {
			return n
		}
		if limit := c.Workload().Limits.Memory; limit > 0 && int64(n) > limit {
			c.fake.Kill(c.ID(), container.Exit{Code: 137, OOM: true})
		}
		return 0
	case "write":
		c.WriteFile(argument(2), []byte(argument(3)))
		return 0
	case "cat":
		b, ok := c.ReadFile(argument(2))
		if !ok {
			return 70
		}
		return say(cmd.Stdout, "%s", b)
	case "count":
		b, _ := c.ReadFile(argument(2))
		n, _ := strconv.Atoi(string(b)) // none yet counts as 0
		c.WriteFile(argument(2), fmt.Append(nil, n+1))
		return n + 1
	case "ticks":
		return forever(ctx, func(i int) { c.WriteFile(argument(2), fmt.Appendf(nil, "%09d", i)) })
	case "babble":
		return forever(ctx, func(i int) { say(cmd.Stdout, "%d\n", i) })
	case "terminal":
		return talk(cmd)
	}
	return probeOutput(c, cmd, argument)
}

// talk prints the size of the command's terminal for each line of input.
func talk(cmd container.Command) int {
	if cmd.Terminal == nil {
		return say(cmd.Stdout, "none\n")
	}
	var size container.Size
	for lines := bufio.NewScanner(cmd.Stdin); lines.Scan(); {
		if lines.Text() == "exit" {
			return 3
		}
		select {
		case size = <-cmd.Terminal:
		default:
		}
		say(cmd.Stdout, "%dx%d\n", size.Columns, size.Rows)
	}
	return 0
}

// probeOutput does the commands that only print.
func probeOutput(c *FakeContainer, cmd container.Command, argument func(int) string) int {
	switch argument(1) {
	case "echo":
		return say(cmd.Stdout, "%s\n", strings.Join(cmd.Argv[2:], " "))
	case "complain":
		return say(cmd.Stderr, "%s\n", strings.Join(cmd.Argv[2:], " "))
	case "spew":
		n, err := strconv.Atoi(argument(2))
		if err != nil {
			return 70
		}
		return say(cmd.Stdout, "%s", strings.Repeat("x", n))
	case "stdin":
		if _, err := io.Copy(cmd.Stdout, cmd.Stdin); err != nil {
			return 70
		}
		return 0
	case "env":
		if v, ok := cmd.Env[argument(2)]; ok {
			return say(cmd.Stdout, "%s\n", v)
		}
		return say(cmd.Stdout, "%s\n", c.Env(argument(2)))
	case "pwd":
		return say(cmd.Stdout, "%s\n", firstOf(cmd.Workdir, firstOf(c.Workload().Workdir, "/")))
	case "id":
		return say(cmd.Stdout, "%s\n", firstOf(cmd.User, firstOf(c.Workload().User, "0:0")))
	case "orphan":
		return say(cmd.Stdout, "left a child\n")
	case "links":
		return say(cmd.Stdout, "lo\n")
	case "cpus":
		return say(cmd.Stdout, "%s\n", c.allowed())
	}
	return 70
}

func say(w io.Writer, format string, args ...any) int {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return 70
	}
	return 0
}

func nap(ctx context.Context, duration string, terminated <-chan struct{}) int {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return 70
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0
	case <-terminated:
		return 143
	case <-ctx.Done():
		return 137
	}
}

// forever does something every few milliseconds until the container is killed.
func forever(ctx context.Context, do func(i int)) int {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ; i++ {
		do(i)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 137
		}
	}
}
