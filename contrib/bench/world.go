package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver of that name, read apart from our store, which would change it

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// fixture is one state directory, one watched folder, and the daemon on them.
type fixture struct {
	program, image string
	dir            string // of everything below; short, because sockets lie in it
	state, specs   string
	settings       string // file of the daemon's; "" = none
	owner          string
	trials         int // that live through all that is measured
	engine         *docker.Engine
	client         *api.Client
	ready          *net.UnixConn // where the daemon tells that it is ready
	daemon         *exec.Cmd     // nil = none runs
	judgeImage     string
	doors          []*client.Judge // of the trials that live through it all
}

func newFixture(ctx context.Context, o options, engine *docker.Engine) (_ *fixture, err error) {
	dir, err := os.MkdirTemp("/tmp", "b")
	if err != nil {
		return nil, err
	}
	w := &fixture{
		program: o.program, image: o.image, dir: dir, state: filepath.Join(dir, "s"), specs: filepath.Join(dir, "w"), engine: engine,
		trials: usual,
	}
	w.client = api.NewClient(api.Socket(w.state))
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(ctx))
		}
	}()
	if err := os.Mkdir(w.specs, 0o755); err != nil {
		return nil, err
	}
	w.ready, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "ready"), Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	return w, w.found(ctx)
}

// found has the program make its state directory, and reads whose it is. A program refuses what
// a newer one has made, and this one may be newer than what it measures.
func (w *fixture) found(ctx context.Context) error {
	if _, err := w.serve(); err != nil {
		return err
	}
	if err := w.kill(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.state, "assayd.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'owner'").Scan(&w.owner); err != nil {
		return fmt.Errorf("read whose state directory it is: %w", err)
	}
	return nil
}

// serve starts the daemon and returns how long it took until it was ready: until its
// first pass over the specs was done.
func (w *fixture) serve() (time.Duration, error) {
	begun := time.Now()
	if err := w.launch(); err != nil {
		return 0, err
	}
	err := w.awaitReady()
	return time.Since(begun), err
}

// launch starts the daemon and waits for nothing.
func (w *fixture) launch() error {
	log, err := os.OpenFile(filepath.Join(w.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	daemon := exec.Command(w.program, "serve", "--watch", w.specs, "--state", w.state)
	if w.settings != "" {
		daemon.Args = append(daemon.Args, "--config", w.settings)
	}
	daemon.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(w.dir, "ready"))
	daemon.Stdout, daemon.Stderr = log, log
	if err := errors.Join(daemon.Start(), log.Close()); err != nil {
		return err
	}
	w.daemon = daemon
	return nil
}

// awaitReady waits for the daemon's word, as systemd does.
func (w *fixture) awaitReady() error {
	if err := w.ready.SetReadDeadline(time.Now().Add(client.Patience)); err != nil {
		return err
	}
	for message := make([]byte, 1024); ; {
		n, err := w.ready.Read(message)
		if err != nil {
			return fmt.Errorf("wait until the daemon is ready: %w\n%s", err, w.said())
		}
		if strings.Contains(string(message[:n]), "READY=1") {
			return nil
		}
	}
}

// said is the end of what the daemon has logged.
func (w *fixture) said() string {
	text, err := os.ReadFile(filepath.Join(w.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// kill ends the daemon as kill -9 does.
func (w *fixture) kill() error {
	if w.daemon == nil {
		return nil
	}
	err := w.daemon.Process.Kill()
	_ = w.daemon.Wait() // it tells of the signal
	w.daemon = nil
	return err
}

// drop puts a file into the watched folder, whole, and returns when.
func (w *fixture) drop(name, text string) (time.Time, error) {
	begun := filepath.Join(w.dir, name)
	if err := os.WriteFile(begun, []byte(text), 0o644); err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	return now, os.Rename(begun, filepath.Join(w.specs, name))
}

// close ends the daemon and removes all that was made, also when ctx has ended.
func (w *fixture) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), client.Patience)
	defer cancel()
	w.client.Close()
	for _, d := range w.doors {
		d.CloseIdleConnections()
	}
	err := w.kill()
	if w.ready != nil {
		err = errors.Join(err, w.ready.Close())
	}
	if w.owner != "" {
		err = errors.Join(err, w.sweep(ctx))
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}

// sweep removes the containers and images that this world's daemon made.
func (w *fixture) sweep(ctx context.Context) error {
	found, err := w.engine.Observe(ctx, w.owner)
	for _, c := range found {
		err = errors.Join(err, w.engine.Remove(ctx, c.ID))
	}
	images, ierr := w.engine.ListImages(ctx, image.LabelImageOwner, w.owner)
	err = errors.Join(err, ierr)
	for _, i := range images {
		for _, ref := range i.Refs {
			err = errors.Join(err, w.engine.RemoveImage(ctx, ref))
		}
	}
	return err
}

// warmMost is how many containers the judge has waiting at most: judge.Options' default.
const warmMost = 4

// quiet waits until only the containers of the trials that stay are there, and as many as
// the judge has waiting for submissions to them.
func (w *fixture) quiet(ctx context.Context) error {
	return client.Until(ctx, "only the long trials have a container", 10*time.Millisecond, func() (bool, error) {
		others, warm, err := w.containers(ctx)
		return others == len(w.doors) && len(warm) == min(len(w.doors), warmMost), err
	})
}

// containers tells apart those that wait for a submission, or did before one was judged in
// them.
func (w *fixture) containers(ctx context.Context) (others int, warm []string, err error) {
	found, err := w.engine.Observe(ctx, w.owner)
	for _, c := range found {
		if c.Labels[sandbox.LabelWarm] == "" {
			others++
		} else {
			warm = append(warm, c.ID)
		}
	}
	return others, warm, err
}

// cleaned waits until the container of a judging is gone: one of those that waited before.
func (w *fixture) cleaned(ctx context.Context, before []string) error {
	return client.Until(ctx, "the judge's container is gone", 10*time.Millisecond, func() (bool, error) {
		others, warm, err := w.containers(ctx)
		left := slices.DeleteFunc(slices.Clone(before), func(id string) bool { return !slices.Contains(warm, id) })
		return others == len(w.doors) && len(left) < len(before), err
	})
}

// settled waits until a run has no open trial.
func (w *fixture) settled(ctx context.Context, address string) error {
	return client.Until(ctx, address+" is finished", 50*time.Millisecond, func() (bool, error) {
		s, err := w.client.Status(ctx, address)
		return err == nil && s.Runs[0].State == "finished", err
	})
}

// findDoors finds the doors of all trials that have one.
func (w *fixture) findDoors() ([]*client.Judge, error) {
	sockets, err := filepath.Glob(filepath.Join(w.state, "t", "*", "judge.sock"))
	if err != nil {
		return nil, err
	}
	var doors []*client.Judge
	for _, socket := range sockets {
		doors = append(doors, &client.Judge{Client: client.OverSocket(socket)})
	}
	return doors, nil
}
