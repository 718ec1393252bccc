// Command probe is the only program in the image that tests of container engines run. It
// has one small behaviour a command, needs no shell and no library, and is never shipped.
// containertest.Probe is the same thing for the fake engine.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: probe COMMAND [ARGUMENT...]")
		os.Exit(64)
	}
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(70)
	}
	os.Exit(code)
}

//nolint:funlen // a table of commands, each a line or two
func run(command string, args []string) (int, error) {
	argument := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch command {
	case "sleep":
		return sleep(argument(0))
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		return sleep(argument(0))
	case "exit":
		return strconv.Atoi(argument(0))
	case "write":
		return 0, os.WriteFile(argument(0), []byte(argument(1)), 0o644)
	case "cat":
		b, err := os.ReadFile(argument(0))
		if err != nil {
			return 0, err
		}
		_, err = os.Stdout.Write(b)
		return 0, err
	case "echo":
		_, err := fmt.Println(strings.Join(args, " "))
		return 0, err
	case "complain":
		_, err := fmt.Fprintln(os.Stderr, strings.Join(args, " "))
		return 0, err
	case "spew":
		return spew(argument(0))
	case "stdin":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return 0, err
	case "env":
		_, err := fmt.Println(os.Getenv(argument(0)))
		return 0, err
	case "pwd":
		dir, err := os.Getwd()
		fmt.Println(dir)
		return 0, err
	case "id":
		_, err := fmt.Printf("%d:%d\n", os.Getuid(), os.Getgid())
		return 0, err
	case "orphan":
		return 0, orphan(argument(0))
	case "count":
		return count(argument(0))
	case "ticks":
		return 0, forever(func(i int) error {
			return os.WriteFile(argument(0), fmt.Appendf(nil, "%09d", i), 0o644)
		})
	case "babble":
		return 0, forever(func(i int) error {
			_, err := fmt.Println(i)
			return err
		})
	case "hog":
		return hog(argument(0))
	case "links":
		return 0, links()
	case "cpus":
		return 0, cpus()
	case "terminal":
		return terminal()
	}
	return 0, fmt.Errorf("no command %q", command)
}

// sleep ends early with 143 when told to terminate, unless that is ignored.
func sleep(duration string) (int, error) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return 0, err
	}
	terminated := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGTERM) {
		signal.Notify(terminated, syscall.SIGTERM)
	}
	select {
	case <-time.After(d):
		return 0, nil
	case <-terminated:
		return 143, nil
	}
}

func spew(size string) (int, error) {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0, err
	}
	block := []byte(strings.Repeat("x", 1<<16))
	for ; n > 0; n -= int64(len(block)) {
		if _, err := os.Stdout.Write(block[:min(n, int64(len(block)))]); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// orphan leaves a child behind that keeps standard output open.
func orphan(duration string) error {
	c := exec.Command("/proc/self/exe", "sleep", duration)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("left a child")
	return nil
}

// count adds one to the number in the file and returns it.
func count(name string) (int, error) {
	n := 0
	if b, err := os.ReadFile(name); err == nil {
		n, _ = strconv.Atoi(string(b))
	}
	n++
	return n, os.WriteFile(name, []byte(strconv.Itoa(n)), 0o644)
}

// forever does something every few milliseconds until it fails.
func forever(do func(i int) error) error {
	for i := 0; ; i++ {
		if err := do(i); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// hog takes memory and touches all of it.
func hog(size string) (int, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0, err
	}
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	fmt.Println("got", len(b))
	return 0, nil
}

func links() error {
	all, err := net.Interfaces()
	for _, l := range all {
		fmt.Println(l.Name)
	}
	return err
}

// terminal prints the size of its terminal for each line of input, until one says "exit".
func terminal() (int, error) {
	var size struct{ rows, columns, x, y uint16 }
	look := func() bool {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 1, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))) //nolint:gosec // the kernel fills it in
		return errno == 0
	}
	if !look() {
		fmt.Println("none")
		return 0, nil
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "exit" {
			return 3, nil
		}
		look()
		fmt.Printf("%dx%d\n", size.columns, size.rows)
	}
	return 0, lines.Err()
}

// cpus prints the CPUs that this process may run on, as in "0-2,5".
func cpus() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			fmt.Println(strings.TrimSpace(list))
			return nil
		}
	}
	return fmt.Errorf("the kernel does not tell")
}
