package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

// spareThreads is how many operating-system threads exist before the agent does. The Go
// runtime dies when it needs a thread and cannot have one, which an agent that uses up the
// process limit could bring about; threads that exist are used again.
const spareThreads = 24

// harden makes the first process hard to hurt: its memory cannot be read or traced, and
// it has all the threads that it will ever need.
func harden() error {
	if err := notDumpable(); err != nil {
		return fmt.Errorf("make the process not dumpable: %w", err)
	}
	runtime.GOMAXPROCS(min(4, runtime.GOMAXPROCS(0))) // bounds the threads the runtime asks for
	startThreads(spareThreads)
	return nil
}

// startThreads makes n threads exist at the same time and leaves them to the runtime.
func startThreads(n int) {
	ready := make(chan struct{})
	release := make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			ready <- struct{}{}
			<-release
			runtime.UnlockOSThread() // without it the thread would end
		}()
	}
	for range n {
		<-ready
	}
	close(release)
}

// catchSignals returns a channel that tells of ended children, and makes the process deaf
// to every other signal, SIGTERM included: an agent that is root could send it and have
// its container stopped. An engine that stops the container waits its grace and kills;
// nothing is lost by that, because all that counts is on disk at any time.
func catchSignals() <-chan os.Signal {
	child, rest := make(chan os.Signal, 1), make(chan os.Signal, 1) // the latter is never read
	for n := syscall.Signal(1); n <= 64; n++ {
		switch n {
		case syscall.SIGCHLD:
			signal.Notify(child, n)
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG: // the last is the runtime's own
		case syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS:
			leaveToKernel(n, byDefault)
		case sigSTKFLT, 32, 33, 34: // the last three are of no use to the runtime
			leaveToKernel(n, ignored)
		default:
			signal.Notify(rest, n)
		}
	}
	return child
}

// What the kernel does with a signal: SIG_DFL and SIG_IGN.
const (
	byDefault = 0
	ignored   = 1
)

// leaveToKernel takes the runtime's handler of a signal away. The runtime dies of a fault
// that it cannot explain, and sigqueue makes any signal look like one; the kernel throws
// away what a process of the container sends to the first one without a handler. A fault
// of the guest itself still ends it.
//
// That is not so for signals that end a process without a core: while a thread of the
// first process blocks one, as the runtime does when it makes another thread, the kernel ends
// the process by it. Those are ignored, which agents inherit; nobody uses them but C
// libraries, with handlers of their own.
func leaveToKernel(n syscall.Signal, what uint64) { setAction(n, what) }

// hold is the first process of a container whose work is done by others: it reaps until
// it is killed.
func hold() int {
	if err := harden(); err != nil {
		fmt.Fprintln(os.Stderr, "hold:", err)
		return exitFailure
	}
	reapForever(catchSignals())
	return 0
}

func reapForever(child <-chan os.Signal) {
	for {
		reap(0)
		<-child
	}
}

// reap collects every child that has ended. If the child with the given pid is one of
// them, it returns how that one ended.
func reap(pid int) (status syscall.WaitStatus, found bool) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || got <= 0 {
			return status, found
		}
		if got == pid {
			status, found = ws, true
		}
	}
}

// exitCode puts the end of a process in a number and in words: 128+n for signal n.
func exitCode(ws syscall.WaitStatus) (int, string) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), "signal: " + ws.Signal().String()
	}
	return ws.ExitStatus(), "exit status " + strconv.Itoa(ws.ExitStatus())
}

var errUnkillable = errors.New("some processes are still there after SIGKILL")

// killAll kills every process of the container but this one and returns when none is left,
// not even as a zombie. It gives the status of the child with the given pid if that one
// was among them. Only a first process may call it: for any other, everything is more than
// the container.
func killAll(ctx context.Context, pid int) (status syscall.WaitStatus, found bool, err error) {
	if os.Getpid() != 1 {
		return 0, false, errors.New("kill everything: not the first process of a container")
	}
	for {
		err := syscall.Kill(-1, syscall.SIGKILL)
		if ws, ok := reap(pid); ok {
			status, found = ws, true
		}
		if errors.Is(err, syscall.ESRCH) {
			return status, found, nil
		}
		if err != nil {
			return status, found, fmt.Errorf("kill everything: %w", err)
		}
		if clock.Sleep(ctx, 5*time.Millisecond) != nil {
			return status, found, errUnkillable
		}
	}
}

// census counts the container's processes without this one, and those of them that ended
// and were not waited for.
func census() (pids, zombies int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		pids++
		// The command in parentheses may hold anything, so look from its end.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && strings.HasPrefix(string(stat[i+1:]), " Z") {
			zombies++
		}
	}
	return pids, zombies
}
