package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/runtime/container/docker"
)

// A soak makes the submissions of a day's work as fast as they are judged: each of the
// live trials submits once in two minutes.
const (
	perHour = 30
	// wave is how many are sent at once; the daemon is looked at between two waves.
	wave = 16
	// bends is how many times what it was in the first quarter the daemon may take in the
	// last one: what leaks a little with each submission has more than doubled by then.
	bends = 1.25
)

// soak compares what the daemon takes in the last quarter of many submissions with what it
// took in the first.
func soak(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	w, err := begun(ctx, o, engine, usual)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	m := result.Samples{}
	s := soaking{fixture: w, control: client.OverSocket(api.Socket(w.state))}
	defer s.control.CloseIdleConnections()
	total := int(o.hours * perHour * usual)
	for sent := -2 * wave; sent < total; sent += wave { // two waves warm things up
		if err := s.wave(ctx, sent); err != nil {
			return nil, err
		}
		if sent >= 0 {
			sample, err := s.sample(ctx)
			if err != nil {
				return nil, err
			}
			m.Add(sample)
		}
	}
	return s.results(o.hours, total, m), nil
}

// soaking is a soak under way.
type soaking struct {
	*fixture
	control http.Client
}

// wave makes submissions at once and waits for their verdicts. Of eight, five are new, two
// were handed in before, and one is refused.
func (s *soaking) wave(ctx context.Context, first int) error {
	g, gctx := errgroup.WithContext(ctx)
	for n := first; n < first+wave; n++ {
		d := s.doors[(n+2*wave)%len(s.doors)]
		g.Go(func() error {
			switch (n + 2*wave) / len(s.doors) % 8 {
			case 3:
				return d.Refused(gctx)
			case 5, 7:
				return d.Judged(gctx, 0)
			}
			return d.Judged(gctx, 10_000+n)
		})
	}
	return g.Wait()
}

// sample is what the daemon takes now.
func (s *soaking) sample(ctx context.Context) (map[string]float64, error) {
	u, err := s.use()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.daemon.Process.Pid), "fd"))
	if err != nil {
		return nil, err
	}
	sample := map[string]float64{"memory": u.memory, "files": float64(len(files))}
	goroutines, err := s.goroutines(ctx)
	if goroutines > 0 {
		sample["goroutines"] = goroutines
	}
	return sample, err
}

// goroutines asks the daemon how many it has; 0 is one too old to tell.
func (s *soaking) goroutines(ctx context.Context) (float64, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://assayd/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		return 0, err
	}
	a, err := s.control.Do(q)
	if err != nil {
		return 0, err
	}
	defer func() { _ = a.Body.Close() }() // only read
	if a.StatusCode == http.StatusNotFound {
		return 0, nil
	}
	var n float64
	line, err := bufio.NewReader(a.Body).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "goroutine profile: total %f", &n)
	}
	if err != nil {
		return 0, fmt.Errorf("read the profile of goroutines: %w: %q", err, line)
	}
	return n, nil
}

func (s *soaking) results(hours float64, total int, m result.Samples) (all []result.Result) {
	what := fmt.Sprintf("after %v hours' worth of submissions (%d): ", hours, total)
	for _, x := range []struct{ name, words, unit string }{
		{"memory", "memory", "MB"}, {"goroutines", "goroutines", ""}, {"files", "open files", ""},
	} {
		if len(m[x.name]) == 0 {
			continue
		}
		early, late := ends(m[x.name])
		r := result.Compare(x.unit, late, early).Called("soak_"+x.name, what+x.words, "the same in the first quarter")
		r.Bound = bends
		all = append(all, r)
	}
	return all
}

// ends are the first and the last quarter of samples, at least one of each.
func ends(samples []float64) (early, late []float64) {
	n := max(len(samples)/4, 1)
	return samples[:n], samples[len(samples)-n:]
}
