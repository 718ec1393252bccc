package workbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// What is kept of an output, in bytes.
const (
	roomHead = 32 << 10
	roomTail = 64 << 10
)

// EngineRoom is a Room in a container that runs. The container is the room's alone: when a
// command has taken too long, every process in it but the first is killed. The first process
// should reap those that others leave.
type EngineRoom struct {
	Engine  container.Execer
	ID      string // of the container
	Workdir string // absolute
	User    string // of commands; "" = the container's
}

// inWorkdir has the folder looked for by the shell: an engine fails without it, and a model may
// have removed it.
const inWorkdir = `cd "$1" || exit 126
shift
exec "$@"`

// Exec implements Room.
func (r EngineRoom) Exec(ctx context.Context, argv []string, timeout time.Duration) (int, []byte, bool, error) {
	out := &ends{}
	command := append([]string{"/bin/sh", "-c", inWorkdir, "sh", r.Workdir}, argv...)
	exit, timedOut, err := r.run(ctx, container.Command{Argv: command, Stdout: out, Stderr: out}, timeout)
	if errors.Is(err, container.ErrCommandNotFound) {
		return 127, []byte("/bin/sh is not there any more"), false, nil
	}
	return exit, out.bytes(), timedOut, err
}

// errLate is why a command's context ended.
var errLate = errors.New("the command's time is over")

// run executes a command, and clears the container if it takes too long.
func (r EngineRoom) run(ctx context.Context, c container.Command, timeout time.Duration) (exit int, timedOut bool, err error) {
	c.User, c.Workdir = r.User, "/"
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errLate)
	defer cancel()
	exit, err = r.Engine.Exec(limited, r.ID, c)
	switch {
	case err == nil:
		return exit, false, nil
	case ctx.Err() != nil:
		return 0, false, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errLate):
		return -1, true, r.clear(ctx)
	}
	return 0, false, fmt.Errorf("run a command at the workbench: %w", err)
}

// clear kills all processes but the container's first. A kernel takes -1 for all of them at
// once, so that none can get away by making others.
func (r EngineRoom) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	_, err := r.Engine.Exec(ctx, r.ID, container.Command{Argv: []string{"/bin/sh", "-c", "kill -9 -1"}, User: "0:0", Workdir: "/"})
	if err != nil && !errors.Is(err, container.ErrCommandNotFound) { // without a shell nothing can be run anyway
		return fmt.Errorf("kill what took too long at the workbench: %w", err)
	}
	return nil
}

const readScript = `[ -f "$1" ] || { echo "there is no regular file" >&2; exit 1; }
exec head -c "$2" -- "$1"`

// Read implements Room.
func (r EngineRoom) Read(ctx context.Context, name string) ([]byte, error) {
	var out bytes.Buffer
	const most = MaxFile + 1
	err := r.file(ctx, name, container.Command{
		Argv:   []string{"/bin/sh", "-c", readScript, "sh", name, fmt.Sprint(most)},
		Stdout: &locked{w: &out, left: most},
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case out.Len() == most:
		return nil, fmt.Errorf("read %s: it has more than %d bytes: %w", name, MaxFile, ErrFile)
	}
	return out.Bytes(), nil
}

const writeScript = `[ ! -e "$1" ] || [ -f "$1" ] || { echo "there is something that is no regular file" >&2; exit 1; }
mkdir -p -- "${1%/*}/" && exec cat > "$1"`

// Write implements Room.
func (r EngineRoom) Write(ctx context.Context, name string, content []byte) error {
	err := r.file(ctx, name, container.Command{
		Argv: []string{"/bin/sh", "-c", writeScript, "sh", name}, Stdin: bytes.NewReader(content),
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// file does something with a file. What the command complains of is the file's fault.
func (r EngineRoom) file(ctx context.Context, name string, c container.Command) error {
	if !strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return fmt.Errorf("it is no absolute path: %w", ErrFile)
	}
	said := &ends{}
	c.Stderr = said
	exit, timedOut, err := r.run(ctx, c, fileTime)
	switch {
	case errors.Is(err, container.ErrCommandNotFound):
		return fmt.Errorf("/bin/sh is not there any more: %w", ErrFile)
	case err != nil:
		return err
	case timedOut:
		return fmt.Errorf("it takes more than %s: %w", fileTime, ErrFile)
	case exit != 0:
		return fmt.Errorf("%s: %w", strings.TrimSpace(cut(legible(string(said.bytes())), wordy, 0)), ErrFile)
	}
	return nil
}

// locked takes a number of bytes and throws the rest away. An engine may write to it a moment
// longer than the call lasts.
type locked struct {
	mu   sync.Mutex
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ends keeps the beginning and the end of what is written to it.
type ends struct {
	mu         sync.Mutex
	head, tail []byte
	gone       int64 // bytes between them
}

// Write implements io.Writer.
func (e *ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(p), roomHead-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail = append(e.tail, p[n:]...)
	if over := len(e.tail) - roomTail; over > roomTail || over > 0 && len(p) > roomTail {
		e.gone += int64(over)
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return len(p), nil
}

func (e *ends) bytes() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail, gone := e.tail, e.gone
	if over := len(tail) - roomTail; over > 0 {
		tail, gone = tail[over:], gone+int64(over)
	}
	out := append([]byte(nil), e.head...)
	if gone > 0 {
		out = fmt.Appendf(out, "\n[… %d bytes left out …]\n", gone)
	}
	return append(out, tail...)
}

var _ Room = EngineRoom{}
