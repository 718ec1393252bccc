package containertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/iotest"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

type tester func(name string, f func(*fixture))

func runExecer(test tester) {
	test("exec reports exit code, output and input", execReports)
	test("exec sees the workload's environment, user and folder, or the command's", execSurroundings)
	test("exec does not wait for a child that keeps standard output open", execOrphan)
	test("exec returns all of a large output", execLarge)
	test("exec ends with its context", execCancelled)
	test("exec ends with its container", execStopped)
	test("exec of what cannot run says why", execFails)
	test("exec at a terminal sees it, and its size", execTerminal)
}

// runRestarter is what it takes to look into a container that has exited.
func runRestarter(test tester) {
	test("a container that has exited is started again as it was, without its workload", restartExited)
	test("what cannot be started again says why", restartFails)
}

func restartExited(b *fixture) {
	w := b.workload("sleep", "1h")
	w.Env, w.Workdir = map[string]string{"COLOUR": "green"}, "/work"
	id := b.start(w).ID
	b.run(id, "write", "/tmp/left", "behind")
	b.must(b.engine.Stop(b.ctx, id, 0))

	restarter := b.engine.(container.Restarter)
	again, err := restarter.Restart(b.ctx, w.Name)
	b.must(err)
	equal(b, "id", again.ID, id)
	equal(b, "phase", again.Phase, container.PhaseRunning)
	equal(b, "what it left", b.run(id, "cat", "/tmp/left"), "behind")
	equal(b, "environment", b.run(id, "env", "COLOUR"), "green\n")
	equal(b, "folder", b.run(id, "pwd"), "/work\n")

	same, err := restarter.Restart(b.ctx, id)
	b.must(err)
	equal(b, "start of what runs", same.StartedAt, again.StartedAt)
	equal(b, "start of its workload", b.start(w).StartedAt, again.StartedAt)
}

func restartFails(b *fixture) {
	restarter := b.engine.(container.Restarter)
	id := b.start(b.workload("sleep", "1h")).ID
	b.must(b.engine.Remove(b.ctx, id))
	_, err := restarter.Restart(b.ctx, id)
	b.want(err, container.ErrNotFound)
}

// execTerminal talks to a program at a terminal: it sees one, of the size that was told last.
func execTerminal(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	equal(b, "without a terminal", b.run(id, "terminal"), "none\n")

	sizes := make(chan container.Size, 1)
	keys, typed := io.Pipe()
	var shown shared
	ended := make(chan int, 1)
	go func() {
		code, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
			Argv: []string{"/probe", "terminal"}, Stdin: keys, Stdout: &shown, Terminal: sizes,
		})
		if err != nil {
			b.Error(err)
		}
		ended <- code
	}()
	for _, size := range []container.Size{{Columns: 80, Rows: 24}, {Columns: 132, Rows: 43}} {
		sizes <- size
		b.eventually("the size is seen", func() bool {
			_, err := io.WriteString(typed, "\n")
			b.must(err)
			return strings.Contains(shown.String(), fmt.Sprintf("%dx%d", size.Columns, size.Rows))
		})
	}
	_, err := io.WriteString(typed, "exit\n")
	b.must(err)
	equal(b, "exit code", <-ended, 3)
	b.must(typed.Close())
}

// shared is a buffer that is read while it is written.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func execReports(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	for _, c := range []struct {
		args        string
		in          io.Reader
		code        int
		out, errors string
	}{
		{"exit 0", nil, 0, "", ""},
		{"exit 3", nil, 3, "", ""},
		{"exit 126", nil, 126, "", ""},
		{"exit 127", nil, 127, "", ""},
		{"exit 255", nil, 255, "", ""},
		{"echo one two", nil, 0, "one two\n", ""},
		{"complain bitterly", nil, 0, "", "bitterly\n"},
		{"stdin", strings.NewReader("in and out"), 0, "in and out", ""},
		{"stdin", nil, 0, "", ""},
	} {
		var out, errs bytes.Buffer
		code, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
			Argv: append([]string{"/probe"}, strings.Fields(c.args)...), Stdin: c.in, Stdout: &out, Stderr: &errs,
		})
		b.must(err)
		equal(b, "exit code of "+c.args, code, c.code)
		equal(b, "output of "+c.args, out.String(), c.out)
		equal(b, "errors of "+c.args, errs.String(), c.errors)
	}
	equal(b, "phase", b.inspect(id).Phase, container.PhaseRunning)
}

func execSurroundings(b *fixture) {
	w := b.workload("sleep", "1h")
	w.Env, w.User, w.Workdir = map[string]string{"COLOUR": "green"}, "1000:1000", "/work"
	id := b.start(w).ID
	equal(b, "environment", b.run(id, "env", "COLOUR"), "green\n")
	equal(b, "user", b.run(id, "id"), "1000:1000\n")
	equal(b, "folder", b.run(id, "pwd"), "/work\n")

	for command, want := range map[string]string{"env COLOUR": "red\n", "id": "0:0\n", "pwd": "/tmp\n"} {
		var out bytes.Buffer
		_, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
			Argv: append([]string{"/probe"}, strings.Fields(command)...), Stdout: &out,
			Env: map[string]string{"COLOUR": "red"}, User: "0:0", Workdir: "/tmp",
		})
		b.must(err)
		equal(b, command, out.String(), want)
	}
}

func execOrphan(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	began := time.Now()
	equal(b, "output", b.run(id, "orphan", "1h"), "left a child\n")
	if took := time.Since(began); took > patience/2 {
		b.Errorf("the call took %s", took)
	}
}

func execLarge(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	equal(b, "bytes", len(b.run(id, "spew", "3000000")), 3000000)

	full := errors.New("enough output")
	_, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
		Argv: []string{"/probe", "echo", "hello"}, Stdout: refusing{full},
	})
	if err != nil { // a process may well have ended without noticing
		b.want(err, full)
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

func execCancelled(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	cause := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(b.ctx)
	began := make(chan struct{})
	go func() {
		<-began
		cancel(cause)
	}()
	_, err := b.engine.(container.Execer).Exec(ctx, id, container.Command{
		Argv: []string{"/probe", "babble"}, Stdout: &announcing{began: began},
	})
	b.want(err, cause)
}

// announcing tells when the first byte came.
type announcing struct {
	began chan struct{}
	told  bool
}

func (a *announcing) Write(p []byte) (int, error) {
	if !a.told {
		a.told = true
		close(a.began)
	}
	return len(p), nil
}

func execStopped(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	began := make(chan struct{})
	result := make(chan int, 1)
	go func() {
		code, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
			Argv: []string{"/probe", "babble"}, Stdout: &announcing{began: began},
		})
		if err != nil {
			code = -1
		}
		result <- code
	}()
	<-began
	b.must(b.engine.Stop(b.ctx, id, 0))
	if code := <-result; code == 0 {
		b.Error("the command succeeded although its container was killed")
	}
}

func execFails(b *fixture) {
	exec := b.engine.(container.Execer)
	id := b.start(b.workload("sleep", "1h")).ID
	for _, program := range []string{"/nowhere/program", "no-such-program"} {
		_, err := exec.Exec(b.ctx, id, container.Command{Argv: []string{program}})
		b.want(err, container.ErrCommandNotFound)
	}
	exited := b.start(b.workload("exit", "0")).ID
	b.wait(exited)
	_, err := exec.Exec(b.ctx, exited, container.Command{Argv: []string{"/probe", "exit", "0"}})
	b.want(err, container.ErrConflict)
	_, err = exec.Exec(b.ctx, "assayd-test-nobody", container.Command{Argv: []string{"/probe", "exit", "0"}})
	b.want(err, container.ErrNotFound)
}

func runCopier(test tester) {
	test("files are copied in and out, running or not", copyBothWays)
	test("a link is copied, or followed where a slash ends the path", copyLinks)
	test("a copy that cannot be done says why", copyFails)
}

func copyBothWays(b *fixture) {
	inst := b.start(b.workload("sleep", "1h"))
	b.copyTo(inst.ID, "/work", map[string]string{"a/b/": "", "a/b/c.txt": "sea", "a/d.txt": "dee"})
	names, content := b.copyFrom(inst.ID, "/work/a")
	if want := []string{"a/", "a/b/", "a/b/c.txt", "a/d.txt"}; !slices.Equal(names, want) {
		b.Errorf("copied out %q, want %q", names, want)
	}
	equal(b, "content", content["a/b/c.txt"], "sea")

	b.must(b.engine.Stop(b.ctx, inst.ID, 0))
	b.copyTo(inst.ID, "/work/a", map[string]string{"late.txt": "late"})
	_, content = b.copyFrom(inst.ID, "/work/a/late.txt")
	equal(b, "content after exit", content["late.txt"], "late")
}

func copyLinks(b *fixture) {
	id := b.start(b.workload("sleep", "1h")).ID
	b.copyTo(id, "/work", map[string]string{"real/": "", "real/a.txt": "ay"})
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for name, to := range map[string]string{"relative": "real", "absolute": "/work/real", "outwards": "../../../../work/real"} {
		b.must(tw.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}))
	}
	b.must(tw.Close())
	b.must(b.engine.(container.Copier).CopyTo(b.ctx, id, "/work", &buf))
	for _, link := range []string{"relative", "absolute", "outwards"} {
		names, _ := b.copyFrom(id, "/work/"+link)
		equal(b, "names of the link itself", strings.Join(names, " "), link)
		names, content := b.copyFrom(id, "/work/"+link+"/")
		equal(b, "names where it leads", strings.Join(names, " "), link+"/ "+link+"/a.txt")
		equal(b, "content where it leads", content[link+"/a.txt"], "ay")
	}
	names, _ := b.copyFrom(id, "/work/real/")
	equal(b, "names of a folder", strings.Join(names, " "), "real/ real/a.txt")
}

func (b *fixture) copyTo(id, dir string, files map[string]string) {
	b.Helper()
	b.must(b.engine.(container.Copier).CopyTo(b.ctx, id, dir, bytes.NewReader(b.tar(files))))
}

// tar makes an archive; names that end in a slash are folders.
func (b *fixture) tar(files map[string]string) []byte {
	b.Helper()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range names {
		head := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Uid: 1000, Gid: 1000, Size: int64(len(files[name]))}
		if strings.HasSuffix(name, "/") {
			head.Typeflag = tar.TypeDir
		}
		b.must(tw.WriteHeader(&head))
		_, err := io.WriteString(tw, files[name])
		b.must(err)
	}
	b.must(tw.Close())
	return buf.Bytes()
}

// copyFrom returns the sorted names and the contents.
func (b *fixture) copyFrom(id, path string) (names []string, content map[string]string) {
	b.Helper()
	stream, err := b.engine.(container.Copier).CopyFrom(b.ctx, id, path)
	b.must(err)
	defer stream.Close()
	content = map[string]string{}
	for tr := tar.NewReader(stream); ; {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, content
		}
		b.must(err)
		data, err := io.ReadAll(tr)
		b.must(err)
		names = append(names, head.Name)
		content[head.Name] = string(data)
	}
}

func copyFails(b *fixture) {
	copier := b.engine.(container.Copier)
	id := b.start(b.workload("sleep", "1h")).ID
	archive := b.tar(map[string]string{"x": "y"})
	_, err := copier.CopyFrom(b.ctx, id, "/no/such/file")
	b.want(err, container.ErrNotFound)
	_, err = copier.CopyFrom(b.ctx, "assayd-test-nobody", "/probe")
	b.want(err, container.ErrNotFound)
	b.want(copier.CopyTo(b.ctx, id, "/no/such/dir", bytes.NewReader(archive)), container.ErrNotFound)
	b.want(copier.CopyTo(b.ctx, "assayd-test-nobody", "/", bytes.NewReader(archive)), container.ErrNotFound)

	broken := errors.New("the disk is broken")
	err = copier.CopyTo(b.ctx, id, "/work", io.MultiReader(bytes.NewReader(archive[:700]), iotest.ErrReader(broken)))
	b.want(err, broken)
	if container.Unavailable(err) {
		b.Errorf("the engine is blamed for what the caller's reader did: %v", err)
	}
}

func runFreezer(test tester) {
	test("a frozen container stands still, can be copied, and goes on", freezeAndThaw)
	test("a frozen container can be stopped and removed", freezeAndStop)
}

// runFreezerAndExecer is what the two owe each other.
func runFreezerAndExecer(test tester) {
	test("a command in a frozen container waits for the thaw", execWaitsForThaw)
	test("a freeze and a command that starts do not wait for each other", freezeWhileCommandsStart)
}

func freezeAndThaw(b *fixture) {
	freezer := b.engine.(container.Freezer)
	w := b.workload("ticks", "/tmp/ticks")
	id := b.start(w).ID
	read := func() string {
		_, content := b.copyFrom(id, "/tmp")
		return content["tmp/ticks"]
	}
	b.eventually("the first tick", func() bool { return read() != "" })
	for range 2 { // a freeze of what is frozen is success
		b.must(freezer.Freeze(b.ctx, id))
	}
	equal(b, "frozen", b.inspect(id).Frozen, true)
	equal(b, "phase", b.inspect(id).Phase, container.PhaseRunning)
	equal(b, "frozen when adopted", b.start(w).Frozen, true)
	before := read()
	for range 3 {
		equal(b, "ticks while frozen", read(), before)
	}
	for range 2 {
		b.must(freezer.Thaw(b.ctx, id))
	}
	equal(b, "frozen", b.inspect(id).Frozen, false)
	b.eventually("another tick", func() bool { return read() != before })

	b.must(b.engine.Stop(b.ctx, id, 0))
	b.want(freezer.Freeze(b.ctx, id), container.ErrConflict)
	b.want(freezer.Freeze(b.ctx, "assayd-test-nobody"), container.ErrNotFound)
}

func freezeAndStop(b *fixture) {
	freezer := b.engine.(container.Freezer)
	id := b.start(b.workload("sleep", "1h")).ID
	b.must(freezer.Freeze(b.ctx, id))
	b.must(b.engine.Stop(b.ctx, id, 30*time.Second))
	equal(b, "exit code", b.wait(id).Code, 137)
	equal(b, "frozen", b.inspect(id).Frozen, false)

	id = b.start(b.workload("sleep", "1h")).ID
	b.must(freezer.Freeze(b.ctx, id))
	b.must(b.engine.Remove(b.ctx, id))
	_, err := b.engine.Inspect(b.ctx, id)
	b.want(err, container.ErrNotFound)
}
