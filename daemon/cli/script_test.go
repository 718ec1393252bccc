package cli_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
	"github.com/assayd/assayd/runtime/task/remote/remotetest"
)

// bin is the folder of the program under test. It is built rather than played by the test
// itself, because it is copied into containers, where it has to be static.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "prepare the tests of the command line:", err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// prepare builds the program and makes the base image of the scripts.
func prepare() (err error) {
	if bin, err = os.MkdirTemp("", "assayd-cli"); err != nil {
		return err
	}
	if err := os.Chmod(bin, 0o755); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v0.0-script", "-o", filepath.Join(bin, "assayd"), "../assayd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	image := exec.Command("../../contrib/images/base", "python")
	image.Stderr = os.Stderr
	if err := image.Run(); err != nil {
		return fmt.Errorf("make the base image (is Docker there?): %w", err)
	}
	return nil
}

// TestScripts runs the commands as people type them. Beside those of testscript there are
//
//	exits CODE PROGRAM ARG…   run a program that must leave with the code
//	edit FILE OLD NEW         replace a text that occurs once
//	closed SOCKET             make a socket that only root may use
//	answers STATE             wait until a daemon answers on the state directory
//	declares STATE ADDRESS    wait until a daemon there knows the run
//	finished STATE ADDRESS    wait until the run is over
//	newer STATE               make the state directory one of a later version
//	registry VARIABLE         serve a registry and put its address into the variable
//	hub VARIABLE DIR          serve a dataset hub whose o/n has the files of DIR
//	images COUNT PATTERN      so many images on this machine have a name like it
//	swept STATE               nothing is left of the state directory's containers
func TestScripts(t *testing.T) {
	dockertest.NotInShort(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("UNIQUE", containertest.Unique()) // for names of images
			shared, err := os.MkdirTemp(bin, "shared")   // where every user may read
			if err := errors.Join(err, os.Chmod(shared, 0o755)); err != nil {
				return err
			}
			env.Setenv("SHARED", shared)
			env.Setenv("LONG", "/tmp/"+string(bytes.Repeat([]byte("x"), 90)))
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition != "root" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "edit": edit, "closed": closed, "answers": answers, "declares": declares, "newer": newer,
			"finished": finished, "registry": registryFor, "images": images, "unused": unused, "collected": collected,
			"hub":   func(ts *testscript.TestScript, _ bool, args []string) { hub(t, ts, args) },
			"swept": func(ts *testscript.TestScript, _ bool, args []string) { swept(t, ts, args[0]) },
		},
	})
}

func registryFor(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	ts.Defer(s.Close)
	ts.Setenv(args[0], strings.TrimPrefix(s.URL, "http://"))
}

func hub(t *testing.T, ts *testscript.TestScript, args []string) {
	served := remotetest.NewHub(t)
	files := map[string]string{}
	dir := ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, name)
			files[filepath.ToSlash(rel)] = ts.ReadFile(name)
		}
		return err
	}))
	served.Put("o/n", files)
	ts.Setenv(args[0], served.URL)
}

func images(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(len(imagesLike(ts, args[1]))); got != args[0] {
		ts.Fatalf("%s images are like %s, want %s", got, args[1], args[0])
	}
}

func imagesLike(ts *testscript.TestScript, pattern string) (ids []string) {
	out, err := exec.Command("docker", "images", "--quiet", "--filter", "reference="+pattern).Output()
	ts.Check(err)
	return strings.Fields(string(out))
}

// unused waits until there is no container of the images: those of a trial that is over go in
// the background.
func unused(ts *testscript.TestScript, _ bool, args []string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for _, id := range imagesLike(ts, args[0]) {
		for {
			out, err := exec.Command("docker", "ps", "--all", "--quiet", "--filter", "ancestor="+id).Output()
			ts.Check(err)
			if len(out) == 0 {
				break
			}
			select {
			case <-tick.C:
			case <-late:
				ts.Fatalf("there are still containers of image %s: %s", id, out)
			}
		}
	}
}

// collected runs a command, such as gc, until no image is like args[0], and looks for args[1] in all that it prints. A judge
// container that waits for work may begin as its trial ends, and keeps its image until it is removed.
func collected(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	printed := ""
	for begun := time.Now(); ; {
		ts.Check(ts.Exec(args[2], args[3:]...))
		printed += ts.ReadFile("stdout")
		left := imagesLike(ts, args[0])
		if len(left) == 0 {
			break
		}
		if time.Since(begun) > time.Minute {
			ts.Fatalf("there are still the images %s", left)
		}
		unused(ts, false, args)
	}
	if !want.MatchString(printed) {
		ts.Fatalf("no match for %q in what %s has printed", args[1], args[2])
	}
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func edit(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(ts.ReadFile(args[0]))
	if n := bytes.Count(text, []byte(args[1])); n != 1 {
		ts.Fatalf("%q occurs %d times in %s", args[1], n, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Replace(text, []byte(args[1]), []byte(args[2]), 1), 0o644))
}

func closed(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: args[0]})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(errors.Join(l.Close(), os.Chmod(args[0], 0)))
}

func answers(ts *testscript.TestScript, _ bool, args []string) { await(ts, args[0], "", "") }

func declares(ts *testscript.TestScript, _ bool, args []string) { await(ts, args[0], args[1], "") }

func finished(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, args[0], args[1], "finished")
}

// await waits until a daemon tells the status of a run, or of all, and that it is the one
// that is wanted; "" = any.
func await(ts *testscript.TestScript, state, address, want string) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	client := api.NewClient(api.Socket(ts.MkAbs(state)))
	defer client.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := client.Status(ctx, address)
		if err == nil && (want == "" || len(s.Runs) > 0 && s.Runs[0].State == want) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("no daemon answers: %v", err)
		}
	}
}

// newer writes a later version where SQLite keeps it: bytes 60 to 63 of the file.
func newer(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), "assayd.db"), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, 99), 60)
	ts.Check(errors.Join(err, f.Close()))
}

func swept(t *testing.T, ts *testscript.TestScript, dir string) {
	s, err := store.Open(t.Context(), ts.MkAbs(dir), store.Options{})
	ts.Check(err)
	owner := s.Owner()
	ts.Check(s.Close())
	engine, err := docker.New(t.Context(), docker.Options{})
	ts.Check(err)
	left, err := engine.Observe(t.Context(), owner)
	containertest.Sweep(t, engine, owner)
	ts.Check(errors.Join(err, engine.Close()))
	if len(left) > 0 {
		ts.Fatalf("%d containers are left", len(left))
	}
}
