package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/contrib/bench/cellhost"
	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

const (
	pageBound    = 1000.0 // ms until the page of a run of largeRun cells is there
	listBound    = 50.0   // ms until its table of trials is
	besideBound  = 20.0   // ms that the status of another run takes while others look at pages
	stepsBound   = 300.0  // ms until a page of steps in the middle of a long trajectory is there
	besidePause  = 50 * time.Millisecond
	pageClients  = 20     // that load the page again a second after they have it
	longSteps    = 15_000 // of a trajectory
	longStepSize = 3600   // bytes of one
)

// pages measures what people wait for in a browser, on a run of ten thousand cells.
func pages(ctx context.Context, _ options, _ *docker.Engine) (all []result.Result, err error) {
	pattern, err := cellhost.OnePattern(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "bp") // short, because sockets lie in it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := cellhost.New(ctx, dir, largeRun)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := pattern.Fill(ctx, h, largeRun); err != nil {
		return nil, err
	}
	if _, err := h.Started(ctx, h.Filled); err != nil {
		return nil, err
	}
	defer h.Stop()
	costs := map[string]float64{}
	if err := looked(ctx, h, costs); err != nil {
		return nil, err
	}
	return []result.Result{
		absolute("pages_run_10000", "page of a run of 10,000 cells → there", costs["run"], pageBound),
		absolute("pages_list_10000", "its table of 200 trials → there", costs["list"], listBound),
		absolute("pages_beside", fmt.Sprintf("status of another run while %d browsers look", pageClients), costs["beside"], besideBound),
		absolute("pages_reading", "its first answer, while it is read for the first time", costs["reading"], stepsBound),
		absolute("pages_steps", "steps in the middle of a trajectory of 54 MB → there", costs["steps"], stepsBound),
	}, nil
}

// looked measures what a browser waits for.
func looked(ctx context.Context, h *cellhost.Host, costs map[string]float64) error {
	if err := login(ctx, h); err != nil {
		return err
	}
	for name, path := range map[string]string{"run": "/runs/r", "list": "/runs/r?part=trials"} {
		if _, _, err := h.Ask(ctx, path); err != nil { // the report is made, and kept
			return err
		}
		var waits []float64
		for range cellhost.Repeats {
			_, wall, err := h.Ask(ctx, path)
			if err != nil {
				return err
			}
			waits = append(waits, wall)
		}
		costs[name] = result.Quantile(waits, 0.5)
	}
	if err := besides(ctx, h, costs); err != nil {
		return err
	}
	path, err := longTrajectory(ctx, h)
	if err != nil {
		return err
	}
	if _, costs["reading"], err = h.Ask(ctx, path); err != nil {
		return err
	}
	if err := client.Until(ctx, "the trajectory is read", 50*time.Millisecond, func() (bool, error) {
		text, _, _, err := h.Answer(ctx, path)
		return !bytes.Contains(text, []byte(`aria-busy="true"`)), err
	}); err != nil {
		return err
	}
	var waits []float64
	for range cellhost.Repeats {
		_, wall, err := h.Ask(ctx, path)
		if err != nil {
			return err
		}
		waits = append(waits, wall)
	}
	costs["steps"] = result.Quantile(waits, 0.5)
	return nil
}

// login gives the host's client a session.
func login(ctx context.Context, h *cellhost.Host) (err error) {
	if h.Client.Jar, err = cookiejar.New(nil); err != nil {
		return err
	}
	code, _ := h.Sessions.Code(web.Viewer)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://assayd/login", strings.NewReader(url.Values{"secret": {code}, "to": {"/specs"}}.Encode()))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := h.Client.Do(q)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("log in: %s", answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// besides measures how long a status takes while browsers look at a page.
func besides(ctx context.Context, h *cellhost.Host, costs map[string]float64) (err error) {
	looking, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	failed := make(chan error, pageClients)
	for range pageClients {
		others.Go(func() {
			for looking.Err() == nil {
				if _, _, err := h.Ask(looking, "/runs/r"); err != nil && looking.Err() == nil {
					failed <- err
					return
				}
				select {
				case <-time.After(time.Second):
				case <-looking.Done():
				}
			}
		})
	}
	var waits []float64
	for range 20 * cellhost.Repeats {
		select {
		case <-time.After(besidePause): // all of them at once would be over before the first page is made
		case <-ctx.Done():
		}
		_, wall, aerr := h.Ask(ctx, "/v1/status?address=run.other")
		if aerr != nil {
			err = aerr
			break
		}
		waits = append(waits, wall)
	}
	stop()
	others.Wait()
	costs["beside"] = result.Quantile(waits, 0.5)
	select {
	case ferr := <-failed:
		err = errors.Join(err, ferr)
	default:
	}
	return err
}

// longTrajectory lays a transcript of 54 MB beside a trial, and returns the address of the page in its middle.
func longTrajectory(ctx context.Context, h *cellhost.Host) (path string, err error) {
	id := ""
	if err := h.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.TrialsAfter("", 1)
		if err == nil && len(rows) == 1 {
			id = rows[0].ID
		}
		return err
	}); err != nil || id == "" {
		return "", errors.Join(err, errors.New("there is no trial"))
	}
	file := trydir.Of(h.Store.Dir(), id, 1).Transcript()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	w, err := transcript.Create(file, 1<<30)
	if err != nil {
		return "", err
	}
	at, text := time.Now(), strings.Repeat("x", longStepSize/2)
	for i := range longSteps {
		message, err := json.Marshal(map[string]string{"role": "user", "content": fmt.Sprint(i, text)})
		if err != nil {
			return "", err
		}
		n, err := w.Begin(at.Add(time.Duration(i)*time.Second), transcript.Completions, "m", false, map[string]json.RawMessage{"messages": fmt.Appendf(nil, "[%s]", message)})
		if err == nil {
			err = w.End(at.Add(time.Duration(i)*time.Second), n, transcript.Response{Status: 200, Reply: &transcript.Reply{Text: text, Calls: []transcript.Call{{Name: "bash"}}}})
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("/trials/%s/steps?from=%d", id, longSteps/2), w.Close()
}
