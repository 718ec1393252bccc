package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
)

// execer is an Execer made of a function.
type execer func(ctx context.Context, c container.Command) (int, error)

func (e execer) Exec(ctx context.Context, _ string, c container.Command) (int, error) {
	return e(ctx, c)
}

func siteWith(e execer, r recipe) *buildStep {
	b := New(Options{})
	b.exec = e
	return &buildStep{b: b, recipe: r}
}

func TestTheMessageOfASetupCommandThatFails(t *testing.T) {
	s := siteWith(func(_ context.Context, c container.Command) (int, error) {
		if strings.HasPrefix(c.Argv[2], "git") {
			return 0, nil
		}
		for i := range 50 {
			fmt.Fprintf(c.Stdout, "line %d\r\n", i)
		}
		fmt.Fprintf(c.Stderr, "\x1b[31mE: no such package\x1b[0m \xff %s\n", strings.Repeat("x", 1000))
		return 100, nil
	}, recipe{Role: "work", Workdir: "/w", Setup: []string{"git init -q", "apt-get install nope\necho done"}})
	err := s.setup(t.Context())
	var failed *SetupError
	if !errors.As(err, &failed) || failed.Index != 1 || failed.Attribute != "setup" || failed.ExitCode != 100 {
		t.Fatalf("got %#v", err)
	}
	want, readErr := os.ReadFile(filepath.Join("testdata", "setup_failed.golden"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
		t.Error(diff)
	}
}

func TestSetupRunsAsRootInWorkdirWithTheEnvironmentOfThePart(t *testing.T) {
	var got container.Command
	s := siteWith(func(_ context.Context, c container.Command) (int, error) {
		got = c
		return 0, nil
	}, recipe{Workdir: "/w", Setup: []string{"make"}, User: "agent", Env: map[string]string{"A": "b"}})
	if err := s.setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got.User != "0:0" || got.Workdir != "/w" || got.Env["A"] != "b" || cmp.Diff(got.Argv, []string{"/bin/sh", "-ec", "make"}) != "" {
		t.Errorf("got %+v", got)
	}
}

func TestACommandThatSaysNothingIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := siteWith(func(ctx context.Context, c container.Command) (int, error) {
			fmt.Fprintln(c.Stdout, "downloading")
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}, recipe{Setup: []string{"wait"}})
		err := s.setup(t.Context())
		if !errors.Is(err, errSilent) || !strings.Contains(err.Error(), "downloading") || time.Since(began) != maxSilence {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestACommandThatTalksForEverIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := siteWith(func(ctx context.Context, c container.Command) (int, error) {
			tick := time.NewTicker(maxSilence / 2)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					fmt.Fprintln(c.Stderr, "still at it")
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
			}
		}, recipe{Setup: []string{"talk"}})
		if err := s.setup(t.Context()); !errors.Is(err, errTooLong) || time.Since(began) != maxRuntime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestSetupNeedsAShell(t *testing.T) {
	s := siteWith(func(context.Context, container.Command) (int, error) {
		return 0, container.ErrCommandNotFound
	}, recipe{Setup: []string{"true"}})
	err := s.setup(t.Context())
	if !errors.Is(err, container.ErrCommandNotFound) || !strings.Contains(err.Error(), "setup needs /bin/sh") {
		t.Errorf("got %v", err)
	}
}

func TestNamesOfPackagesAreNoOptions(t *testing.T) {
	for _, name := range []string{"-oDpkg::Pre-Invoke=sh", "", "a b"} {
		s := siteWith(func(context.Context, container.Command) (int, error) {
			t.Errorf("%q: something ran", name)
			return 0, nil
		}, recipe{Packages: []string{name}, PipPackages: []string{name}})
		if err := s.packages(t.Context()); err == nil {
			t.Errorf("package %q was taken", name)
		}
		if err := s.pipPackages(t.Context()); err == nil {
			t.Errorf("pip package %q was taken", name)
		}
	}
}

func TestTheTailOfOutputIsBounded(t *testing.T) {
	out := &tail{heard: func() {}}
	for range 10 {
		n, err := out.Write([]byte(strings.Repeat("y", tailBytes/3) + "\n"))
		if n != tailBytes/3+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := out.Write([]byte(strings.Repeat("z", 3*tailBytes))); err != nil {
		t.Fatal(err)
	}
	if len(out.buf) != tailBytes {
		t.Errorf("%d bytes are kept", len(out.buf))
	}
}
