//go:build linux

package daemon_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// disk is a small file system of the test's own.
type disk struct {
	*testing.T
	dir    string
	filler string
}

// onSmallDisk puts a folder of a world that has no daemon yet on a file system of its own.
func (w *fixture) onSmallDisk(dir string, mib int) *disk {
	w.Helper()
	d := &disk{T: w.T, dir: dir, filler: filepath.Join(dir, "filler")}
	kept := w.TempDir()
	err := os.CopyFS(kept, os.DirFS(dir))
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=755", mib))
	}
	if err != nil {
		w.Fatalf("mount a small tmpfs, which takes root: %v", err)
	}
	w.Cleanup(func() {
		if w.daemon != nil {
			w.kill()
		}
		if w.Failed() {
			w.explain() // while there is something to be shown
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			w.Error(err)
		}
	})
	if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
		w.Fatal(err)
	}
	return d
}

// fill leaves room for so many bytes.
func (d *disk) fill(room int64) {
	d.Helper()
	f, err := os.OpenFile(d.filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for err == nil {
			_, err = f.Write(block)
		}
		if errors.Is(err, unix.ENOSPC) {
			err = nil
		}
	}
	info, serr := f.Stat()
	if err = errors.Join(err, serr); err == nil {
		err = f.Truncate(info.Size() - room)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		d.Fatal(err)
	}
}

// free takes the filler away.
func (d *disk) free() {
	d.Helper()
	if err := os.Remove(d.filler); err != nil {
		d.Fatal(err)
	}
}

// remount makes the file system read-only, or writable with no flag.
func (d *disk) remount(flags uintptr) {
	d.Helper()
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
		d.Fatal(err)
	}
}

// reply is what a submission is answered with.
type reply struct {
	code  int
	after string // Retry-After
	text  string
}

// submitAs sends a tree of one file to the judge, as the agent of the only trial that runs
// could: through the door of its container.
func (w *fixture) submitAs(level int, ballast []byte) reply {
	w.Helper()
	doors, err := filepath.Glob(filepath.Join(w.state, "t", "*", "judge.sock"))
	if err != nil || len(doors) != 1 {
		w.Fatalf("the trial's doors are %q, %v", doors, err)
	}
	agent := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", doors[0])
	}}}
	defer agent.CloseIdleConnections()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("archive", "a.tar")
	if err != nil {
		w.Fatal(err)
	}
	tree := tar.NewWriter(part)
	for name, text := range map[string][]byte{"src/level": fmt.Append(nil, level), "src/ballast": ballast} {
		err = errors.Join(err, tree.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		if err == nil {
			_, err = tree.Write(text)
		}
	}
	if err := errors.Join(err, tree.Close(), parts.Close()); err != nil {
		w.Fatal(err)
	}
	answer, err := agent.Post("http://judge/api/v1/submit", parts.FormDataContentType(), &form)
	if err != nil {
		return reply{text: err.Error()}
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		w.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header.Get("Retry-After"), string(text)}
}

// A full state directory stops what has to be written, and nothing else: no agent, no
// round, no try. With room again all goes on by itself.
func TestAFullStateDirectoryCostsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configured(everyTry)
	disk := w.onSmallDisk(w.state, 128)
	slow := strings.Replace(w.benchmark(), `command = "sh tests/check.sh"`, `command = "sleep 2; sh tests/check.sh"`, 1)
	w.write("r.hcl", slow+w.agent("waiter", waiter)+w.agent("immortal", immortal)+
		w.run("long", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	const long, short = "r.run.long.jsonl", "s.run.short.jsonl"
	w.serve()
	trial := w.recorded(long, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(trial.Trial, "Accepted as round agent-1")
	disk.fill(0) // under the first judging: its verdict finds no room
	body := w.body(trial.Trial)
	refused := func(r reply) bool {
		return r.code == http.StatusServiceUnavailable && r.after != "" && strings.Contains(r.text, "disk")
	}
	if r := w.submitAs(4, nil); !refused(r) {
		t.Errorf("on a full disk a submission is answered with %+v", r)
	}
	if s, err := w.status("run.long"); err != nil || s.Trials[0].Try != 1 {
		t.Errorf("on a full disk the status is %+v, %v", s, err)
	}
	w.logs("no space left")
	disk.free()
	w.verdictOn(long, "agent-1")

	// Room for a little: what is cleaned, kept or committed fails in turn.
	accepted := []string{"agent-1"}
	for i, room := range []int64{12 << 20, 10 << 20, 8 << 20} {
		disk.fill(room)
		ballast := make([]byte, 6<<20)
		_, _ = rand.Read(ballast) // never fails
		switch r := w.submitAs(5, ballast); {
		case r.code == http.StatusOK:
			accepted = append(accepted, fmt.Sprintf("agent-%d", len(accepted)+1))
		case !refused(r):
			t.Errorf("with room for %d MiB a submission is answered with %+v", room>>20, r)
		}
		disk.free()
		if r := w.submitAs(i, nil); r.code != http.StatusOK {
			t.Errorf("with room again a submission is answered with %+v", r)
		}
		accepted = append(accepted, fmt.Sprintf("agent-%d", len(accepted)+1))
	}

	// A deadline on a full disk: the agent ends, and the last snapshot waits for room.
	w.write("s.hcl", strings.Replace(w.run("short", []string{`agent "immortal" {}`}, `timeout = "8s"`, `auto_eval = "0s"`), "\nrun", "run", 1))
	ending := w.recorded(short, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(ending.Trial, "waiting")
	disk.fill(0)
	w.until("the last snapshot was tried ten times", func() error {
		if n := strings.Count(w.daemonLog(), "trial="+ending.Trial); n < 12 {
			return fmt.Errorf("it was tried %d times", n)
		}
		return nil
	})
	disk.free()
	if done := w.settled("run.short", patience).Trials[0]; done.Status != "unresolved" || done.Try != 1 || done.Reason != "deadline" {
		t.Errorf("the trial whose deadline came is %+v", done)
	}
	last := w.history(short)
	if judged := ofType("submission", last); len(judged) != 1 || judged[0].Round != "final-1" || judged[0].Status != "ok" {
		t.Errorf("of the trial whose deadline came, judged were %+v", judged)
	}
	if now := w.bodies()[trial.Trial]; now != body {
		t.Errorf("the agent was touched: before %+v, now %+v", body, now)
	}
	w.letGo(trial.Trial)
	if done := w.settled("run.long", patience).Trials[0]; done.Status != "resolved" || done.Try != 1 || !done.Deadline.Equal(trial.Deadline) {
		t.Errorf("the trial is %+v", done)
	}
	accepted = append(accepted, fmt.Sprintf("agent-%d", len(accepted)+1))
	var judged []string
	for _, r := range ofType("submission", w.history(long)) {
		if r.Status != "ok" {
			t.Errorf("round %s is judged as %s: %s", r.Round, r.Status, r.Problem)
		}
		if r.Kind == "agent" {
			judged = append(judged, r.Round)
		}
	}
	slices.Sort(judged)
	slices.Sort(accepted)
	if !slices.Equal(judged, accepted) {
		t.Errorf("judged were %q, accepted %q", judged, accepted)
	}
	w.oneVerdictEach(w.history(long))
	w.noContainerIsLeft()
}

// logs waits until the daemon says something.
func (w *fixture) logs(what string) {
	w.Helper()
	w.until("the daemon says: "+what, func() error {
		if !strings.Contains(w.daemonLog(), what) {
			return errors.New("it does not")
		}
		return nil
	})
}

// verdictOn waits for the record of a round.
func (w *fixture) verdictOn(file, round string) record {
	w.Helper()
	return w.recorded(file, "the verdict on "+round, func(r record) bool { return r.Type == "submission" && r.Round == round })
}

// Whatever the daemon writes, a disk that is full just then is waited for.
func TestADiskThatIsFullAtAnyWriteCostsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configured(everyTry)
	w.breakable()
	point := filepath.Join(filepath.Dir(w.state), "point")
	w.env = []string{"ASSAYD_FAULT_FULL_FILE=" + point, "ASSAYD_FAULT_FULL_WHILE=" + point}
	w.write("r.hcl", w.benchmark()+w.agent("climber", climber)+w.run("full", []string{`agent "climber" { env = { STEPS = "2", PAUSE = "1" } }`},
		`timeout = "4m"`, `attempts = 10`, `parallel = 2`, `auto_eval = "1s"`))
	const file = "r.run.full.jsonl"
	w.serve()
	w.recorded(file, "a verdict", func(r record) bool { return r.Type == "submission" })
	for _, p := range fault.Writes {
		w.withoutRoom(point, p, func() {})
		n := len(ofType("submission", w.records(file)))
		w.until("another verdict comes after "+string(p), func() error {
			if len(ofType("submission", w.records(file))) <= n && len(ofType("run.finished", w.records(file))) == 0 {
				return errors.New("none does")
			}
			return nil
		})
	}
	for _, trial := range w.settled("run.full", 12*time.Minute).Trials {
		if trial.Status != "unresolved" || trial.Reason != "agent_exit" || trial.Try != 1 {
			t.Errorf("trial %s: %s %s, try %d, %s", trial.ID, trial.Status, trial.Reason, trial.Try, trial.Detail)
		}
		if log := w.agentLog(trial.ID); !strings.Contains(log, "step 2 of") || strings.Contains(log, "submit failed") {
			t.Errorf("trial %s:\n%s", trial.ID, log)
		}
	}
	w.nothingIsLost(file)
}

// everyTry has the daemon log an error as often as it is met.
const everyTry = "log {\n  level = \"debug\"\n}\n"

// withoutRoom leaves a place that writes without room until it has failed three times after
// something was done. The file is the one that the daemon looks into.
func (w *fixture) withoutRoom(file string, p fault.Point, lead func()) {
	w.Helper()
	if err := os.WriteFile(file, []byte(p), 0o600); err != nil {
		w.Fatal(err)
	}
	lead()
	w.until("it fails to "+string(p)+" three times", func() error {
		if n := strings.Count(w.daemonLog(), "write "+string(p)+": no space left on device"); n < 3 {
			return fmt.Errorf("it did %d times", n)
		}
		return nil
	})
	if err := os.Remove(file); err != nil {
		w.Fatal(err)
	}
}

// What an agent and its model say, and what is played, waits for room as everything else does,
// and nothing of it is left out.
func TestADiskThatIsFullLosesNothingOfWhatIsToldAndPlayed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configured(everyTry)
	w.breakable()
	w.crowded()
	point := filepath.Join(filepath.Dir(w.state), "point")
	w.env = []string{"ASSAYD_FAULT_FULL_FILE=" + point, "ASSAYD_FAULT_FULL_WHILE=" + point}
	w.knows(func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "well", Usage: modeltest.Usage{Input: 12, Output: 3}}
	})
	w.write("talker/main.py", talker)
	w.write("r.hcl", w.benchmark()+w.arcade()+w.agent("player", player)+`
agent "talker" {
  dir     = "talker"
  command = "python3 /agent/main.py"
  api     = "openai"
}
`+w.run("talk", []string{`agent "talker" { model = "scripted" }`}, `timeout = "10m"`, `auto_eval = "0s"`)+
		fmt.Sprintf("\nrun \"games\" {\n  tasks = [benchmark.%s-games]\n  agent \"player\" {}\n  timeout = \"10m\"\n}\n", w.bench))
	w.serve()
	started := func(file string) string {
		return w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
	}
	talks, plays := started("r.run.talk.jsonl"), started("r.run.games.jsonl")
	w.said(talks, "told")
	w.said(plays, "closed")
	leads := map[fault.Point]func(){fault.WriteTrajectory: func() { w.letGo(talks) }}
	for _, p := range fault.Told {
		lead := leads[p]
		if lead == nil {
			lead = func() {}
		}
		w.withoutRoom(point, p, lead)
	}
	w.until("some more games were played", func() error {
		if n := strings.Count(w.agentLog(plays), "closed"); n < 5 {
			return fmt.Errorf("%d were", n)
		}
		return nil
	})
	w.letGo(plays)
	w.settled("run.talk", patience)
	w.settled("run.games", patience)

	ends, err := os.ReadFile(filepath.Join(w.specs, "r.run.talk.jsonl"))
	if err != nil || !bytes.Contains(ends, []byte(`"trajectory":`)) || !bytes.Contains(ends, []byte(`"transcript":`)) {
		t.Errorf("the verdict names no transcript or no trajectory: %v\n%s", err, ends)
	}
	text, err := os.ReadFile(filepath.Join(w.state, "trials", talks, "try-1", trydir.TranscriptFile))
	if err != nil {
		t.Fatal(err)
	}
	asked, answered := bytes.Count(text, []byte(`"request":`)), bytes.Count(text, []byte(`"response":`))
	if told := strings.Count(w.agentLog(talks), "told "); asked != told || answered != told {
		t.Errorf("the agent had %d answers; the transcript has %d requests and %d answers", told, asked, answered)
	}
	w.everyGameHasItsVerdict(plays, w.records("r.run.games.jsonl"))
	for _, sub := range w.rounds()[plays] {
		if sub.Kind == round.KindGame && (sub.Report == nil || sub.Report.Output == "") {
			t.Errorf("game %s has no transcript: %+v", sub.Round, sub.Report)
		}
	}
	w.noContainerIsLeft()
}

// A daemon does not start on a state directory that it cannot write. It says how to help,
// and what runs goes on.
func TestAStateDirectoryThatCannotBeWrittenIsNoStart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	disk := w.onSmallDisk(w.state, 128) // the program of the tests alone takes 60
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("wait", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	const file = "r.run.wait.jsonl"
	w.serve()
	trial := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(trial.Trial, "waiting")
	w.body(trial.Trial)
	bodies := w.bodies()
	for name, c := range map[string]struct {
		spoil, mend func()
		says        []string
	}{
		"full":      {func() { disk.fill(0) }, disk.free, []string{"no space left", "make room", w.state}},
		"read-only": {func() { disk.remount(unix.MS_RDONLY) }, func() { disk.remount(0) }, []string{"cannot be written", "make " + w.state + " writable", "--state"}},
	} {
		w.kill()
		c.spoil()
		p := w.launch()
		select {
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("%s: the daemon goes on", name)
		}
		said := w.daemonLog()
		if code := p.cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%s: exit %d, want 1", name, code)
		}
		for _, words := range c.says {
			if !strings.Contains(said, words) {
				t.Errorf("%s: nothing is said of %q:\n%s", name, words, said)
			}
		}
		w.untouched(bodies)
		c.mend()
		w.daemon = nil
		w.serve()
		w.untouched(bodies)
	}
	w.letGo(trial.Trial)
	if done := w.settled("run.wait", patience).Trials[0]; done.Status != "resolved" || done.Try != 1 {
		t.Errorf("the trial is %+v", done)
	}
	w.oneVerdictEach(w.history(file))
	w.noContainerIsLeft()
}

// A state directory that becomes read-only under a daemon is waited for.
func TestAStateDirectoryThatBecomesReadOnlyCostsNothing(t *testing.T) {
	t.Parallel()
	w, trial, bodies := waiting(t)
	const file = "r.run.wait.jsonl"
	// Nobody may have a file open for writing on what is mounted read-only: the database
	// stays as it is, and all that is opened anew cannot be written.
	if err := errors.Join(
		unix.Mount(w.state, w.state, "", unix.MS_BIND, ""),
		unix.Mount("", w.state, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""),
	); err != nil {
		t.Fatalf("mount a folder read-only, which takes root: %v", err)
	}
	r := w.submitAs(5, nil)
	err := unix.Unmount(w.state, unix.MNT_DETACH)
	if err != nil {
		t.Fatal(err)
	}
	if r.code != http.StatusServiceUnavailable || r.after == "" || !strings.Contains(r.text, "cannot store") {
		t.Errorf("on a read-only disk a submission is answered with %+v", r)
	}
	w.untouched(bodies)
	if r := w.submitAs(6, nil); r.code != http.StatusOK {
		t.Errorf("on a disk that can be written again a submission is answered with %+v", r)
	}
	w.verdictOn(file, "agent-2")
	w.letGo(trial)
	if done := w.settled("run.wait", patience).Trials[0]; done.Status != "resolved" || done.Try != 1 {
		t.Errorf("the trial is %+v", done)
	}
	all := w.history(file)
	if judged := ofType("submission", all); len(judged) != 3 {
		t.Errorf("judged were %+v, want three rounds", judged)
	}
	w.oneVerdictEach(all)
	w.noContainerIsLeft()
}

// Lines wait for room beside their spec; where the folder cannot be written they are kept
// under the state directory, as the status says, until it can be.
func TestResultFilesWaitForTheirDisk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	disk := w.onSmallDisk(w.specs, 8)
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("wait", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	const file = "r.run.wait.jsonl"
	w.serve()
	trial := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.verdictOn(file, "agent-1")
	disk.fill(0)
	for level := range 30 { // more than a page of lines
		if r := w.submitAs(level%10, fmt.Append(nil, level)); r.code != http.StatusOK {
			t.Fatalf("a submission is answered with %+v", r)
		}
	}
	w.logs("cannot write result file")
	if s, err := w.status("run.wait"); err != nil || s.Elsewhere != "" {
		t.Errorf("a full disk is no reason to go elsewhere: %q, %v", s.Elsewhere, err)
	}
	disk.free()
	w.verdictOn(file, "agent-31")

	disk.remount(unix.MS_RDONLY)
	aside := filepath.Join(w.state, "results", w.specs, file)
	if r := w.submitAs(2, []byte("aside")); r.code != http.StatusOK {
		t.Fatalf("a submission is answered with %+v", r)
	}
	w.until("the lines are kept under the state directory", func() error {
		text, err := os.ReadFile(aside)
		if err == nil && !bytes.Contains(text, []byte(`"agent-32"`)) {
			err = errors.New("the last one is not")
		}
		return err
	})
	w.until("the status says where the lines are, and why", func() error {
		s, err := w.status("run.wait")
		if err == nil && (s.Results != aside || !strings.Contains(s.Elsewhere, "read-only")) {
			err = fmt.Errorf("it says %q, because of %q; want %q", s.Results, s.Elsewhere, aside)
		}
		return err
	})
	disk.remount(0)
	w.signal(syscall.SIGHUP)
	w.verdictOn(file, "agent-32")
	w.letGo(trial.Trial)
	if done := w.settled("run.wait", patience).Trials[0]; done.Status != "resolved" || done.Try != 1 {
		t.Errorf("the trial is %+v", done)
	}
	all := w.history(file)
	if judged := ofType("submission", all); len(judged) != 33 {
		t.Errorf("%d rounds are recorded, want 33", len(judged))
	}
	w.oneVerdictEach(all)
	w.noContainerIsLeft()
}
