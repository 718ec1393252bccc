//go:build linux

package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// immortal does all it can to live on: it ignores signals, and leaves behind children that
// belong to nobody.
const immortal = `
trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP
echo 7 >src/level
for i in 1 2 3; do
	setsid sh -c 'trap "" HUP INT TERM; (trap "" HUP INT TERM; while :; do sleep 1; done) & while :; do sleep 1; done' &
done
python3 -c '
import os, signal, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
'
echo waiting
while :; do sleep 1; done
`

func TestTheDeadlineHoldsWithoutADaemon(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("immortal", immortal)+w.run("late", []string{`agent "immortal" {}`}, `timeout = "12s"`, `auto_eval = "0s"`))
	const file = "r.run.late.jsonl"
	w.serve()
	started := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(started.Trial, "waiting")
	id := w.body(started.Trial).ID
	if n := len(processes(t, id)); n < 6 {
		t.Fatalf("only %d processes are there", n)
	}
	w.kill()
	if !time.Now().Before(started.Deadline) {
		t.Fatal("the machine is too slow for this test: the deadline came before the crash")
	}
	w.until("only the guest lives", func() error {
		left := processes(t, id)
		if len(left) != 1 {
			return fmt.Errorf("there are %d processes", len(left))
		}
		return nil
	})
	if early := time.Until(started.Deadline); early > 0 {
		t.Errorf("the agent died %s before its deadline", early)
	}
	if after := time.Since(started.Deadline); after > patience {
		t.Errorf("the agent died %s after its deadline", after)
	}
	w.serve()
	w.settled("run.late", patience)
	all := w.history(file)
	judged, finished := ofType("submission", all), ofType("trial.finished", all)
	if len(judged) != 1 || judged[0].Round != "final-1" || judged[0].Status != "ok" {
		t.Errorf("judged were %+v", judged)
	}
	if len(finished) != 1 || finished[0].Reason != "deadline" || !finished[0].TimedOut || finished[0].Status != "unresolved" || finished[0].Best == nil {
		t.Errorf("finished is %+v", finished)
	}
	w.oneVerdictEach(all)
	w.noContainerIsLeft()
}

// Nothing is accepted after the deadline, not even what began to arrive before it.
func TestNothingIsAcceptedAfterTheDeadline(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// The judge takes its time, so that the door is still open when the time is over.
	spec := strings.Replace(w.benchmark(), `command = "sh tests/check.sh"`, `command = "sleep 4; sh tests/check.sh"`, 1)
	w.write("r.hcl", spec+w.agent("immortal", immortal)+w.run("late", []string{`agent "immortal" {}`}, `timeout = "6s"`, `auto_eval = "0s"`))
	const file = "r.run.late.jsonl"
	w.serve()
	started := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(started.Trial, "waiting")
	doors, err := filepath.Glob(filepath.Join(w.state, "t", "*", "judge.sock"))
	if err != nil || len(doors) != 1 {
		t.Fatalf("the trial's doors are %q, %v", doors, err)
	}
	agent := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", doors[0])
	}}}
	defer agent.CloseIdleConnections()
	late := make(chan int, 1)
	go func() {
		late <- upload(w.Context(), agent, time.After(time.Until(started.Deadline)+500*time.Millisecond))
	}()
	if code := <-late; code != http.StatusForbidden {
		t.Errorf("what arrived over the deadline is answered with %d", code)
	}
	if code := upload(w.Context(), agent, time.After(0)); code != http.StatusForbidden {
		t.Errorf("what came after the deadline is answered with %d", code)
	}
	w.settled("run.late", patience)
	judged := ofType("submission", w.history(file))
	if len(judged) != 1 || judged[0].Kind != "final" {
		t.Errorf("judged were %+v", judged)
	}
	w.noContainerIsLeft()
}

// upload submits an archive that is complete only at the given moment, and returns the
// answer's status; 0 = there was none.
func upload(ctx context.Context, c *http.Client, complete <-chan time.Time) int {
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if _, err := parts.CreateFormFile("archive", "a.tar"); err != nil {
		return 0
	}
	head := bytes.Clone(form.Bytes())
	form.Reset()
	form.Write(make([]byte, 1024)) // the end mark of a tar
	if err := parts.Close(); err != nil {
		return 0
	}
	body, sink := io.Pipe()
	go func() {
		_, err := sink.Write(head)
		select {
		case <-complete:
		case <-ctx.Done():
		}
		_, err2 := sink.Write(form.Bytes())
		sink.CloseWithError(errors.Join(err, err2))
	}()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://judge/api/v1/submit", body)
	if err != nil {
		return 0
	}
	q.Header.Set("Content-Type", parts.FormDataContentType())
	a, err := c.Do(q)
	_ = body.Close()
	if err != nil {
		return 0
	}
	_ = a.Body.Close()
	return a.StatusCode
}

// silent changes its tree twice, and never submits.
const silent = `
for level in 2 6; do
	echo $level >src/level
	echo "level $level"
	until [ -e /var/tmp/go$level ]; do sleep 0.1; done
done
echo "list: $(assay-submit --list 2>&1 | tr '\n' ' ')"
echo "auto in history: $(assay-submit --list 2>&1 | grep -c auto)"
echo bye
`

func TestAutoEvalJudgesFromOutside(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("silent", silent)+w.run("auto", []string{`agent "silent" {}`}, `timeout = "3m"`, `auto_eval = "1s"`))
	const file = "r.run.auto.jsonl"
	w.serve()
	trial := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
	round := func(rate string) {
		t.Helper()
		w.until("a round passes "+rate, func() error {
			if out := w.ok("submissions", trial); !strings.Contains(out, rate) {
				return errors.New(out)
			}
			return nil
		})
	}
	round("2/10")
	id := w.body(trial).ID
	w.inside(id, "sleep 3; touch /var/tmp/go2") // time for snapshots of the same tree
	round("6/10")
	w.inside(id, "sleep 3; touch /var/tmp/go6")
	w.settled("run.auto", patience)
	trees := map[string]string{}
	for i, r := range ofType("submission", w.history(file)) {
		if r.Round != fmt.Sprintf("auto-%d", i+1) || r.Kind != "auto" {
			t.Errorf("round %d is %s of kind %s", i+1, r.Round, r.Kind)
		}
		if before, ok := trees[r.Archive.SHA256]; ok {
			t.Errorf("%s judged the tree of %s again", r.Round, before)
		}
		trees[r.Archive.SHA256] = r.Round
	}
	if len(trees) < 2 || len(trees) > 3 { // perhaps one before the first step
		t.Errorf("%d trees were judged: %v", len(trees), trees)
	}
	if log := w.agentLog(trial); !strings.Contains(log, "auto in history: 0\n") || !strings.Contains(log, "bye") {
		t.Errorf("the agent saw more than its own:\n%s", log)
	}
	w.oneVerdictEach(w.history(file))
	w.noContainerIsLeft()
}
