//go:build linux

package daemon_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"mime/multipart"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// bar is a judge on a real store and an engine that is none, with one trial before it.
type bar struct {
	*testing.T
	*judge.Judge
	ledger *ledger.Submissions
	dir    string
}

// roomy has room for every judging at once.
type roomy struct{}

func (roomy) TryJudge(float64, int64) (func(), bool)       { return func() {}, true }
func (roomy) TryGame(float64, int64) (func(), bool, error) { return func() {}, true, nil }
func (roomy) Changed() <-chan struct{}                     { return nil }

// storedBlobs gives the judge its blobs.
type storedBlobs struct{ *blob.Blobs }

func (b storedBlobs) Create() (round.BlobWriter, error) { return b.Blobs.Create() }

func newBar(t *testing.T, cooldown time.Duration) bar {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fake := containertest.NewFake()
	fake.Handle(func(ctx context.Context, _ *containertest.FakeContainer) int { <-ctx.Done(); return 137 })
	fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int { return 0 })
	img := fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": "", "/work/tests/x": ""})
	b := bar{T: t, ledger: history.NewLedger(s), dir: dir}
	b.Judge, err = judge.New(judge.Options{
		Engine: fake, Ledger: b.ledger, Blobs: storedBlobs{s.Blobs()}, Capacity: roomy{}, Owner: s.Owner(), PauseProcess: []string{"/hold"}, Spool: t.TempDir(),
		Parsers: func(string) (parser.Parser, bool) {
			return parser.Parser{Name: "fine", Parse: func(parser.Input) parser.Result {
				return parser.Result{Complete: true, Tests: []parser.Test{{Name: "a", Status: parser.Passed}}}
			}}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Open(round.Session{
		Trial: "t", Try: 1, Token: "token", JudgeImage: img.ID, Deadline: time.Now().Add(10 * time.Hour), Cooldown: cooldown,
		Task: task.Task{Name: "one", Workdir: "/work", Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 20, MaxFiles: 100}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- b.Judge.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for _, err := range []error{<-over, fake.Close(), s.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// send uploads an archive and returns the answer's code.
func (b bar) send(archive []byte, fields ...string) int {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1]) // into memory, as all here
	}
	part, _ := form.CreateFormFile("archive", "a.tar")
	_, _ = part.Write(archive)
	_ = form.Close()
	r := httptest.NewRequestWithContext(b.Context(), "POST", "/api/v1/submit", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	b.Handler("t").ServeHTTP(w, r)
	return w.Code
}

// weight is what the state directory holds, without what SQLite writes anew in its place,
// and the memory in use.
func (b bar) weight() (disk, memory int64) {
	b.Helper()
	err := filepath.WalkDir(b.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") {
			return err
		}
		info, err := e.Info()
		if err == nil {
			disk += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return disk, int64(m.HeapAlloc)
}

func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// refuseMany has n submissions of one trial refused, for most reasons there are, and weighs
// what they leave behind.
func refuseMany(t *testing.T, n int) {
	b := newBar(t, 5*time.Hour)
	good, evil := tarOf(t, "src/a", "1"), tarOf(t, "a/../../x", "1")
	if code := b.send(good); code != 200 {
		t.Fatalf("the first one is answered with %d", code)
	}
	kinds := []struct {
		code int
		send func() int
	}{
		{429, func() int { return b.send(good) }}, // within the cooldown
		{429, func() int { return b.send(evil) }},
		{401, func() int { return b.send(good, "token", "another") }},
		{403, func() int { return b.send(good, "kind", "auto") }},
		{400, func() int { return b.send(nil, "kind", "final") }},
	}
	refuse := func(times int) {
		for i := range times {
			k := kinds[i%len(kinds)]
			if code := k.send(); code != k.code {
				t.Fatalf("submission %d is answered with %d, want %d", i, code, k.code)
			}
		}
	}
	refuse(100) // what is made once is made
	disk, memory := b.weight()
	began := time.Now()
	refuse(n)
	took := time.Since(began)
	diskAfter, memoryAfter := b.weight()
	t.Logf("%d refused in %s: %d bytes of disk and %d of memory are left of all of them", n, took.Round(time.Millisecond), diskAfter-disk, memoryAfter-memory)
	if diskAfter-disk > 16<<10 { // a page or two of what else is written meanwhile
		t.Errorf("refused submissions left %d bytes on the disk", diskAfter-disk)
	}
	if memoryAfter-memory > 16<<20 {
		t.Errorf("refused submissions left %d bytes in memory", memoryAfter-memory)
	}
	if subs, err := b.ledger.Submissions(t.Context(), "t"); err != nil || len(subs) != 1 {
		t.Errorf("%d rounds, %v", len(subs), err)
	}
}

// TestARefusedSubmissionLeavesNothing behind: neither a row, nor a blob, nor memory.
func TestARefusedSubmissionLeavesNothing(t *testing.T) { refuseMany(t, 2_000) }

// repeatMany has a trial submit one tree n times: each is a round with a verdict, but there
// is one archive, and at some number there are no more rounds. It returns how many were
// accepted.
func repeatMany(t *testing.T, n int) (accepted int) {
	b := newBar(t, 0)
	tree := tarOf(t, "src/a", strings.Repeat("1", 500_000))
	repeat := func(times int) {
		for i := 0; i < times; {
			switch code := b.send(tree); code {
			case 200:
				accepted++
				i++
			case 429:
				i++
			case 503: // its share of the queue is full
				<-time.After(10 * time.Millisecond)
			default:
				t.Fatalf("repetition %d is answered with %d", i, code)
			}
		}
	}
	repeat(20)
	disk, memory := b.weight()
	began := time.Now()
	repeat(n - 20)
	took := time.Since(began)
	b.verdicts(accepted)
	diskAfter, memoryAfter := b.weight()
	t.Logf("%d repetitions in %s, %d accepted: %d bytes of disk and %d of memory are left of all of them", n, took.Round(time.Millisecond), accepted, diskAfter-disk, memoryAfter-memory)
	if each := (diskAfter - disk) / int64(n); each > 4096 {
		t.Errorf("a repetition takes %d bytes of disk", each)
	}
	if memoryAfter-memory > 32<<20 {
		t.Errorf("repetitions hold %d bytes of memory", memoryAfter-memory)
	}
	return accepted
}

// verdicts waits until so many rounds are judged, all of them.
func (b bar) verdicts(n int) {
	b.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		subs, err := b.ledger.Submissions(b.Context(), "t")
		judged := 0
		for _, s := range subs {
			if s.State == round.StateJudged {
				judged++
			}
		}
		if err == nil && judged == n && len(subs) == n {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.Fatal(fmt.Errorf("%d of %d rounds are judged, want %d: %w", judged, len(subs), n, err))
		}
	}
}

// TestARepeatedSubmissionIsARowAndNoMore: the archive is there once.
func TestARepeatedSubmissionIsARowAndNoMore(t *testing.T) {
	if got := repeatMany(t, 100); got != 100 {
		t.Errorf("%d were accepted", got)
	}
}
