package judgetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
)

// Ledger is a round.Ledger in memory.
type Ledger struct {
	Mu       sync.Mutex
	All      []round.Submission
	Verdicts map[string]int // how often a submission became judged
	Fail     func(call string) error
}

// NewLedger returns one that holds nothing.
func NewLedger() *Ledger { return &Ledger{Verdicts: map[string]int{}} }

func (l *Ledger) failing(call string) error {
	if l.Fail == nil {
		return nil
	}
	return l.Fail(call)
}

// Reserve implements round.Ledger.
func (l *Ledger) Reserve(_ context.Context, trial string, decide func([]round.Submission) (round.Submission, error)) (round.Submission, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	s, err := decide(l.own(trial))
	if err == nil {
		err = l.failing("reserve")
	}
	if err != nil {
		return round.Submission{}, err
	}
	l.All = append(slices.DeleteFunc(l.All, func(p round.Submission) bool { return p.ID == s.ID }), s)
	return s, nil
}

// Update implements round.Ledger.
func (l *Ledger) Update(_ context.Context, id string, change func(*round.Submission) error) (round.Submission, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	i := slices.IndexFunc(l.All, func(s round.Submission) bool { return s.ID == id })
	if i < 0 {
		return round.Submission{}, fmt.Errorf("submission %q: %w", id, fs.ErrNotExist)
	}
	s := l.All[i]
	if err := change(&s); err != nil {
		return round.Submission{}, err
	}
	if err := l.failing("update"); err != nil {
		return round.Submission{}, err
	}
	if s.State == round.StateJudged {
		l.Verdicts[id]++
	}
	l.All[i] = s
	return s, nil
}

// Release implements round.Ledger.
func (l *Ledger) Release(_ context.Context, id string) error {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if err := l.failing("release"); err != nil {
		return err
	}
	l.All = slices.DeleteFunc(l.All, func(s round.Submission) bool { return s.ID == id })
	return nil
}

// Submission implements round.Ledger.
func (l *Ledger) Submission(_ context.Context, id string) (round.Submission, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, s := range l.All {
		if s.ID == id {
			return s, nil
		}
	}
	return round.Submission{}, fmt.Errorf("submission %q: %w", id, fs.ErrNotExist)
}

// Submissions implements round.Ledger.
func (l *Ledger) Submissions(_ context.Context, trial string) ([]round.Submission, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.own(trial), nil
}

// Of are the rounds of a trial, for tests to look at while the judge works.
func (l *Ledger) Of(trial string) []round.Submission {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.own(trial)
}

func (l *Ledger) own(trial string) []round.Submission {
	var own []round.Submission
	for _, s := range l.All {
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

// Blobs is a round.Blobs in memory.
type Blobs struct {
	mu  sync.Mutex
	All map[string][]byte
}

// NewBlobs returns a store that holds nothing.
func NewBlobs() *Blobs { return &Blobs{All: map[string][]byte{}} }

// Create implements round.Blobs.
func (b *Blobs) Create() (round.BlobWriter, error) { return &blob{blobs: b}, nil }

// Open implements round.Blobs.
func (b *Blobs) Open(digest string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.All[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

type blob struct {
	bytes.Buffer
	blobs *Blobs
}

// Commit implements round.BlobWriter.
func (b *blob) Commit() (string, int64, error) {
	sum := sha256.Sum256(b.Bytes())
	digest := hex.EncodeToString(sum[:])
	b.blobs.mu.Lock()
	defer b.blobs.mu.Unlock()
	b.blobs.All[digest] = bytes.Clone(b.Bytes())
	return digest, int64(b.Len()), nil
}

// Close implements round.BlobWriter.
func (b *blob) Close() error { return nil }

// Places is a Capacity of so many CPUs, where what would be alone is always admitted. What asks for
// none takes one.
type Places struct {
	mu    sync.Mutex
	Max   float64
	taken float64
	more  chan struct{}
}

// NewPlaces returns room for judgings that take so many CPUs together.
func NewPlaces(max float64) *Places { return &Places{Max: max, more: make(chan struct{})} }

// TryJudge implements round.Capacity.
func (p *Places) TryJudge(cpus float64, _ int64) (func(), bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cpus = max(cpus, 1); p.taken+cpus > p.Max && (p.taken > 0 || p.Max == 0) {
		return nil, false
	}
	p.taken += cpus
	return func() { p.give(cpus) }, true
}

// TryGame implements round.Capacity.
func (p *Places) TryGame(cpus float64, memory int64) (func(), bool, error) {
	release, ok := p.TryJudge(cpus, memory)
	return release, ok, nil
}

// Changed implements round.Capacity.
func (p *Places) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.more
}

func (p *Places) give(cpus float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= cpus
	close(p.more)
	p.more = make(chan struct{})
}

// Hold takes one from outside, and Release gives it back.
func (p *Places) Hold() { p.give(-1) }

// Release gives back what Hold took.
func (p *Places) Release() { p.give(1) }

// Held is how many CPUs are taken.
func (p *Places) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.taken)
}

// File is an entry for a file.
func File(name, content string) Entry {
	return Entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, content}
}

// Folder is an entry for a folder.
func Folder(name string) Entry {
	return Entry{tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}, ""}
}

// Link is a symbolic link.
func Link(name, target string) Entry {
	return Entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, ""}
}

// Hard is a hard link.
func Hard(name, target string) Entry {
	return Entry{tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}, ""}
}

// Special is a device, a pipe, or the like.
func Special(kind byte, name string) Entry {
	return Entry{tar.Header{Typeflag: kind, Name: name, Mode: 0o644}, ""}
}

// Entry is one entry of an archive.
type Entry struct {
	Head    tar.Header
	Content string
}

// Pack makes a tar stream.
func Pack(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if err := w.WriteHeader(&e.Head); err != nil {
			t.Fatalf("pack %q: %v", e.Head.Name, err)
		}
		if _, err := io.WriteString(w, e.Content); err != nil {
			t.Fatalf("pack %q: %v", e.Head.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Zipped compresses a stream with gzip.
func Zipped(t testing.TB, b []byte) []byte {
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

// Listing shows an archive as lines: "name=content", "name/", "name->target".
func Listing(t testing.TB, archive []byte) string {
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

// Gone says that a path was removed.
func Gone(name string) Entry { return Entry{*patch.Removal(name), ""} }

// Resolves reports whether a verdict is a full success.
func Resolves(r *round.Report) bool { return r.Status == round.StatusOK && r.Valid && r.PassRate == 1 }

// Shown lists an archive as listing does, with "-name" for what is gone.
func Shown(t *testing.T, archive []byte) (lines []string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case patch.Removes(h):
			lines = append(lines, "-"+h.Name)
		case h.Typeflag == tar.TypeSymlink:
			lines = append(lines, h.Name+"->"+h.Linkname)
		default:
			lines = append(lines, h.Name)
		}
	}
}

// FullBlobs has no room for so many blobs.
type FullBlobs struct {
	round.Blobs
	Left int
}

// Create fails until there is room.
func (b *FullBlobs) Create() (round.BlobWriter, error) {
	if b.Left--; b.Left >= 0 {
		return nil, &fs.PathError{Op: "write", Path: "blob", Err: syscall.ENOSPC}
	}
	return b.Blobs.Create()
}
