//go:build linux

package daemon_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/daemon/api"
)

// What a daemon takes for a submission it gives back: no goroutine, no open file and no
// memory stays.
func TestSubmissionsLeaveNothingBehindInTheDaemon(t *testing.T) {
	t.Parallel()
	soak(t, 2, 150)
}

// soak makes so many submissions to so many trials, and looks at the daemon before and after.
// Two in eight are judged, three were handed in before, and three are refused.
func soak(t *testing.T, trials, submissions int) {
	t.Helper()
	w := newFixture(t)
	w.crowded()
	w.write("r.hcl", w.benchmark()+w.agent("immortal", immortal)+
		w.run("soak", []string{`agent "immortal" {}`}, `auto_eval = "0s"`, fmt.Sprintf("attempts = %d", trials), fmt.Sprintf("parallel = %d", trials)))
	w.serve()
	var doors []string
	w.until("all trials wait", func() (err error) {
		if doors, err = filepath.Glob(filepath.Join(w.state, "t", "*", "judge.sock")); err == nil && len(doors) < trials {
			err = fmt.Errorf("%d of %d have a door", len(doors), trials)
		}
		return err
	})
	wave := func(first, n int) {
		t.Helper()
		var clients []*http.Client
		for _, door := range doors {
			clients = append(clients, over(door))
		}
		g, ctx := errgroup.WithContext(t.Context())
		g.SetLimit(8)
		for i := first; i < first+n; i++ {
			g.Go(func() error { return submitted(ctx, clients[i%trials], i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, c := range clients {
			c.CloseIdleConnections()
		}
	}
	control := over(api.Socket(w.state))
	defer control.CloseIdleConnections()
	wave(0, 32) // connections to the engine and the database are opened when they are needed
	before := w.takes(control)
	wave(32, submissions)
	const (
		few    = 12      // of connections to the engine, more or less; a leak is as many as submissions
		little = 8 << 20 // of what is remembered of submissions; a leak of their archives is more
	)
	w.until("the daemon takes what it took before", func() error {
		now := w.takes(control)
		if now.goroutines > before.goroutines+few || now.files > before.files+few || now.heap > before.heap+little {
			return fmt.Errorf("it has %+v, and had %+v before %d submissions", now, before, submissions)
		}
		return nil
	})
}

// taken is what a daemon holds.
type taken struct{ goroutines, files, heap int }

func (w *fixture) takes(control *http.Client) (now taken) {
	w.Helper()
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(w.daemon.cmd.Process.Pid), "fd"))
	if err != nil {
		w.Fatal(err)
	}
	now.files = len(files)
	code, text := answered(w.Context(), control, http.MethodGet, "http://assayd/debug/pprof/goroutine?debug=1", "", nil)
	if _, err := fmt.Sscanf(string(text), "goroutine profile: total %d", &now.goroutines); err != nil {
		w.Fatalf("the profile of goroutines is %d: %s", code, text)
	}
	code, text = answered(w.Context(), control, http.MethodGet, "http://assayd/debug/pprof/heap?debug=1&gc=1", "", nil)
	_, heap, found := strings.Cut(string(text), "\n# HeapAlloc = ")
	if _, err := fmt.Sscan(heap, &now.heap); !found || err != nil {
		w.Fatalf("the profile of the heap is %d, without its size: %v", code, err)
	}
	return now
}

// ballast makes an archive large enough to be missed.
var ballast = strings.Repeat("x", 256<<10)

// submitted makes one submission and waits until its end.
func submitted(ctx context.Context, agent *http.Client, n int) error {
	content := archiveOf("src/level", strconv.Itoa(n%10)+"\n", "src/number", "the same", "src/ballast", ballast)
	switch n % 8 {
	case 0, 4:
		content = archiveOf("src/level", strconv.Itoa(n%10)+"\n", "src/number", strconv.Itoa(n), "src/ballast", ballast)
	case 1, 3, 6:
		content = []byte("no archive")
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("archive", "a.tar")
	if err != nil {
		return err
	}
	_, _ = part.Write(content) // into memory
	if err := form.Close(); err != nil {
		return err
	}
	code, text := answered(ctx, agent, http.MethodPost, "http://judge/api/v1/submit", form.FormDataContentType(), &body)
	if string(content) == "no archive" {
		if code < 400 || code >= 500 {
			return fmt.Errorf("what is no archive is answered with %d: %s", code, text)
		}
		return nil
	}
	var accepted struct {
		ID string `json:"submission_id"`
	}
	if err := json.Unmarshal(text, &accepted); err != nil || code != http.StatusOK {
		return fmt.Errorf("submission %d is answered with %d: %s", n, code, text)
	}
	for {
		code, text = answered(ctx, agent, http.MethodGet, "http://judge/api/v1/result/"+accepted.ID+"?wait=30s", "", nil)
		var result struct{ Status string }
		switch err := json.Unmarshal(text, &result); {
		case err != nil || code != http.StatusOK:
			return fmt.Errorf("the result of submission %d is %d: %s", n, code, text)
		case result.Status == "completed":
			return nil
		}
	}
}

// answered makes a request; 0 = it was not answered.
func answered(ctx context.Context, c *http.Client, method, url, contentType string, body io.Reader) (code int, text []byte) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	q.Header.Set("Content-Type", contentType)
	a, err := c.Do(q)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer func() { _ = a.Body.Close() }()
	text, err = io.ReadAll(a.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return a.StatusCode, text
}

// archiveOf is a tar of files, given by name and content in turns.
func archiveOf(files ...string) []byte {
	var b bytes.Buffer
	archive := tar.NewWriter(&b) // into memory, where nothing fails
	for i := 0; i < len(files); i += 2 {
		_ = archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))})
		_, _ = io.WriteString(archive, files[i+1])
	}
	_ = archive.Close()
	return b.Bytes()
}

// over is a client of what listens on a Unix socket.
func over(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}
