package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/hour"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/mining/archive"
)

// An hour of the archive as it was at its largest, and how many are read at once.
const (
	hourBytes   = 767e6 // unpacked
	hoursRead   = 24
	hoursAtOnce = 8
	hoursMB     = 150 // that the memory may come to
)

// archiving measures how fast an hour of GH Archive is searched for merges, against the same
// decompressor alone on one core, and how much memory a day of them takes.
func archiving(ctx context.Context, _ options, _ *docker.Engine) (_ []result.Result, err error) {
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "hour")
	hour, err := writeHour(path, hourBytes)
	if err != nil {
		return nil, err
	}
	speed, err := scanned(ctx, path, hour)
	if err != nil {
		return nil, err
	}
	memory, err := dayRead(ctx, path, hour)
	return []result.Result{speed, memory}, err
}

func writeHour(path string, size int64) (hour.Generated, error) {
	f, err := os.Create(path)
	if err != nil {
		return hour.Generated{}, err
	}
	g, err := hour.Generate(f, size)
	return g, errors.Join(err, f.Close())
}

// scanned compares in turns, with one processor.
func scanned(ctx context.Context, path string, hour hour.Generated) (result.Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := result.Samples{}
	for n := range 8 {
		took, err := client.Timed(func() error { return scanOf(ctx, path, hour) })
		if err != nil {
			return result.Result{}, err
		}
		alone, err := client.Timed(func() error { return unpacked(path) })
		if err != nil {
			return result.Result{}, err
		}
		if n > 0 { // once for the file to be in memory
			m.Add(map[string]float64{"scan": took, "alone": alone, "MB/s": float64(hour.Bytes) / 1e3 / took})
		}
	}
	r := result.Compare("ms", m["scan"], m["alone"])
	r.Parts = m.Medians("MB/s")
	r.Bound = 1 / 0.85
	return r.Called("archive", fmt.Sprintf("an hour of GH Archive (%d MB, %d MB packed) is searched for merges, one core", hour.Bytes/1e6, hour.Packed/1e6), "it is unpacked by the same decompressor alone"), nil
}

func scanOf(ctx context.Context, path string, hour hour.Generated) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	counts, err := archive.Scan(ctx, f, func(archive.Merge) error { return nil })
	if err == nil && counts.Merged != hour.Merges {
		err = fmt.Errorf("%d merges are found in an hour of %d", counts.Merged, hour.Merges)
	}
	return err
}

// unpacked does what must be done: read and decompress.
func unpacked(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 256<<10))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, z)
	return err
}

// asArchive is the first argument of this program when it reads a day of hours.
const asArchive = "as-archive"

// dayRead has a process of its own read the same file for each hour of a day.
func dayRead(ctx context.Context, path string, hour hour.Generated) (result.Result, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { http.ServeFile(w, q, path) }))
	defer server.Close()
	self, err := os.Executable()
	if err != nil {
		return result.Result{}, err
	}
	process := exec.CommandContext(ctx, self, asArchive, server.URL, strconv.Itoa(hour.Merges))
	process.Stderr = os.Stderr
	out, err := process.Output()
	if err != nil {
		return result.Result{}, fmt.Errorf("read a day of the archive: %w", err)
	}
	peak, err := megabytesOf(string(out), "VmHWM:")
	r := result.Compare("MB", []float64{peak}, []float64{hoursMB})
	r.Bound = 1
	return r.Called("archive_memory", fmt.Sprintf("memory of a process at its most that reads %d such hours, %d at once", hoursRead, hoursAtOnce), "what it may have"), err
}

// readDay is that process. Its output is its status.
func readDay(ctx context.Context, url, merges string) error {
	a, err := archive.New(archive.Options{BaseURL: url})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(hoursAtOnce)
	for n := range hoursRead {
		g.Go(func() error {
			counts, err := a.Hour(ctx, archive.First().Add(time.Duration(n)*time.Hour), func(archive.Merge) error { return nil })
			if err == nil && strconv.Itoa(counts.Merged) != merges {
				err = fmt.Errorf("%d merges are found in an hour of %s", counts.Merged, merges)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, strings.NewReader(string(status)))
	return err
}
