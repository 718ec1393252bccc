package judge

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLedger is a Ledger in memory.
type memoryLedger struct {
	mu       sync.Mutex
	all      []Submission
	verdicts map[string]int // how often a submission became judged
	fail     func(call string) error
}

func newMemoryLedger() *memoryLedger { return &memoryLedger{verdicts: map[string]int{}} }

func (l *memoryLedger) failing(call string) error {
	if l.fail == nil {
		return nil
	}
	return l.fail(call)
}

func (l *memoryLedger) Reserve(_ context.Context, trial string, decide func([]Submission) (Submission, error)) (Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := decide(l.own(trial))
	if err == nil {
		err = l.failing("reserve")
	}
	if err != nil {
		return Submission{}, err
	}
	l.all = append(slices.DeleteFunc(l.all, func(p Submission) bool { return p.ID == s.ID }), s)
	return s, nil
}

func (l *memoryLedger) Update(_ context.Context, id string, change func(*Submission) error) (Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(s Submission) bool { return s.ID == id })
	if i < 0 {
		return Submission{}, fmt.Errorf("submission %q: %w", id, fs.ErrNotExist)
	}
	s := l.all[i]
	if err := change(&s); err != nil {
		return Submission{}, err
	}
	if err := l.failing("update"); err != nil {
		return Submission{}, err
	}
	if s.State == StateJudged {
		l.verdicts[id]++
	}
	l.all[i] = s
	return s, nil
}

func (l *memoryLedger) Release(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.failing("release"); err != nil {
		return err
	}
	l.all = slices.DeleteFunc(l.all, func(s Submission) bool { return s.ID == id })
	return nil
}

func (l *memoryLedger) Submission(_ context.Context, id string) (Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if s.ID == id {
			return s, nil
		}
	}
	return Submission{}, fmt.Errorf("submission %q: %w", id, fs.ErrNotExist)
}

func (l *memoryLedger) Submissions(_ context.Context, trial string) ([]Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own(trial), nil
}

// of are the rounds of a trial, for tests to look at while the judge works.
func (l *memoryLedger) of(trial string) []Submission {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own(trial)
}

func (l *memoryLedger) own(trial string) []Submission {
	var own []Submission
	for _, s := range l.all {
		if s.Trial != trial {
			continue
		}
		if s.Report != nil {
			brief := *s.Report
			brief.Tests, s.Report = nil, &brief
		}
		own = append(own, s)
	}
	return own
}

// memoryBlobs is a Blobs in memory.
type memoryBlobs struct {
	mu  sync.Mutex
	all map[string][]byte
}

func newMemoryBlobs() *memoryBlobs { return &memoryBlobs{all: map[string][]byte{}} }

func (b *memoryBlobs) Create() (BlobWriter, error) { return &memoryBlob{blobs: b}, nil }

func (b *memoryBlobs) Open(digest string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.all[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

type memoryBlob struct {
	bytes.Buffer
	blobs *memoryBlobs
}

func (b *memoryBlob) Commit() (string, int64, error) {
	sum := sha256.Sum256(b.Bytes())
	digest := hex.EncodeToString(sum[:])
	b.blobs.mu.Lock()
	defer b.blobs.mu.Unlock()
	b.blobs.all[digest] = bytes.Clone(b.Bytes())
	return digest, int64(b.Len()), nil
}

func (b *memoryBlob) Close() error { return nil }

// places is a Capacity of so many CPUs, where what would be alone is always admitted. What asks for
// none takes one.
type places struct {
	mu    sync.Mutex
	max   float64
	taken float64
	more  chan struct{}
}

func newPlaces(max float64) *places { return &places{max: max, more: make(chan struct{})} }

func (p *places) TryJudge(cpus float64, _ int64) (func(), bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cpus = max(cpus, 1); p.taken+cpus > p.max && (p.taken > 0 || p.max == 0) {
		return nil, false
	}
	p.taken += cpus
	return func() { p.give(cpus) }, true
}

func (p *places) TryGame(cpus float64, memory int64) (func(), bool, error) {
	release, ok := p.TryJudge(cpus, memory)
	return release, ok, nil
}

func (p *places) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.more
}

func (p *places) give(cpus float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= cpus
	close(p.more)
	p.more = make(chan struct{})
}

// hold takes one from outside, and release gives it back.
func (p *places) hold() { p.give(-1) }

func (p *places) release() { p.give(1) }

func (p *places) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.taken)
}

// file, folder, link, hard and device make headers of hostile or honest entries.
func file(name, content string) tarEntry {
	return tarEntry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, content}
}

func folder(name string) tarEntry {
	return tarEntry{tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}, ""}
}

func link(name, target string) tarEntry {
	return tarEntry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, ""}
}

func hard(name, target string) tarEntry {
	return tarEntry{tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}, ""}
}

func special(kind byte, name string) tarEntry {
	return tarEntry{tar.Header{Typeflag: kind, Name: name, Mode: 0o644}, ""}
}

type tarEntry struct {
	head    tar.Header
	content string
}

// pack makes a tar stream.
func pack(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if err := w.WriteHeader(&e.head); err != nil {
			t.Fatalf("pack %q: %v", e.head.Name, err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatalf("pack %q: %v", e.head.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// listing shows an archive as lines: "name=content", "name/", "name->target".
func listing(t testing.TB, archive []byte) string {
	t.Helper()
	var lines []string
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return strings.Join(lines, " ")
		}
		if err != nil {
			t.Fatalf("read the cleaned archive: %v", err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			lines = append(lines, h.Name)
		case tar.TypeSymlink:
			lines = append(lines, h.Name+"->"+h.Linkname)
		default:
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, h.Name+"="+string(content))
		}
	}
}
