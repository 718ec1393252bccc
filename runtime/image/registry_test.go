package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

func TestARegistryIsAskedAgainWhileThatMayHelp(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails int
		err   error
		tries int
		ok    bool
	}{
		{"at once", 0, nil, 1, true},
		{"twice out of reach", 2, container.ErrRegistry, 3, true},
		{"for ever out of reach", 99, container.ErrRegistry, 4, false},
		{"denied", 99, container.ErrDenied, 1, false},
		{"no such registry", 99, container.ErrNoSuchRegistry, 1, false},
		{"engine away", 99, container.ErrUnavailable, 1, false},
	} {
		for _, call := range []string{"Pull", "Push"} {
			t.Run(c.name+" "+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := containertest.NewFake()
					b := New(Options{Engine: f, Log: slog.New(slog.DiscardHandler), Registry: "r.example/ns"})
					f.AddRemote("r.example/ns/x:1", container.ImageConfig{}, nil)
					f.AddImage("y:1", container.ImageConfig{}, nil)
					tries := 0
					f.Intercept(func(got, _ string) error {
						if got != call {
							return nil
						}
						if tries++; tries <= c.fails {
							return fmt.Errorf("try %d: %w", tries, c.err)
						}
						return nil
					})
					var err error
					if call == "Pull" {
						_, err = b.Pull(t.Context(), "x:1", "")
					} else {
						_, _, err = b.Push(t.Context(), "y:1")
					}
					if tries != c.tries || (err == nil) != c.ok || !c.ok && !errors.Is(err, c.err) {
						t.Errorf("%d tries, %v; want %d", tries, err, c.tries)
					}
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestAPullThatIsCalledOffDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := containertest.NewFake()
		b := New(Options{Engine: f, Log: slog.New(slog.DiscardHandler)})
		f.Intercept(func(string, string) error { return container.ErrRegistry })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := b.Pull(ctx, "x:1", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhereImagesAreLookedFor(t *testing.T) {
	for _, c := range []struct{ registry, ref, want string }{
		{"", "a:1", "a:1"},
		{"r.example/ns", "a:1", "r.example/ns/a:1"},
		{"r.example/ns/", "me/a:1", "r.example/ns/me/a:1"},
		{"r.example/ns", "other.example/a:1", "other.example/a:1"},
		{"r.example/ns", "only-there:1", "only-there:1"}, // not in the registry of the settings
	} {
		f := containertest.NewFake()
		b := New(Options{Engine: f, Log: slog.New(slog.DiscardHandler), Registry: c.registry})
		f.AddRemote(c.want, container.ImageConfig{}, nil)
		img, err := b.Resolve(t.Context(), c.ref, "")
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if here, err := f.Image(t.Context(), c.ref); err != nil || here.ID != img.ID {
			t.Errorf("%+v: under its own name is %+v, %v", c, here, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAPrebuiltImageComesFromTheRegistryOrIsBuilt(t *testing.T) {
	for _, c := range []struct {
		name   string
		there  bool
		err    error
		pulled bool
	}{
		{"there", true, nil, true},
		{"not there", false, nil, false},
		{"out of reach", true, container.ErrRegistry, false},
		{"denied", true, container.ErrDenied, false},
		{"no such registry", true, container.ErrNoSuchRegistry, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f, _ := builderOnFake(t, nil)
			b.opts.Registry = "r.example"
			tk := task.Task{Benchmark: "demo", Name: "t", Image: "python:1", Workdir: "/w", Work: task.Part{Setup: []string{"true"}, Ref: "demo.work.t:1"}}
			if c.there {
				f.AddRemote("r.example/demo.work.t:1", container.ImageConfig{}, nil)
			}
			tries := 0
			f.Intercept(func(call, _ string) error {
				if tries++; call == "Pull" {
					return c.err
				}
				return nil
			})
			if errors.Is(c.err, container.ErrRegistry) {
				transferPauses, tries = nil, 0
				t.Cleanup(func() { transferPauses = []time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second} })
			}
			got, err := b.Work(t.Context(), tk, nil)
			if err != nil || got.Ref != "demo.work.t:1" || got.Pulled != c.pulled || got.Cached != c.pulled {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// told collects what a batch tells.
func told(t *testing.T, b *Builder, verb string, tasks ...task.Task) (lines []string) {
	t.Helper()
	batch, err := b.Batch(verb)
	if err != nil {
		t.Fatal(err)
	}
	for _, tk := range tasks {
		batch.Task(t.Context(), tk, nil, func(m Made) {
			name, _, _ := strings.Cut(m.Name, ":")
			lines = append(lines, strings.TrimSpace(m.Role+" "+m.State+" "+name))
		})
	}
	return lines
}

func TestABatchTellsOfEveryImage(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	b.opts.Registry = "r.example"
	base := &task.Base{Name: "py", Image: "python:1", PostInstall: "RUN touch /opt/base"}
	good, staged := someTask(), someTask()
	good.Image, good.Base = "", base
	staged.Name, staged.Work, staged.Judge.Run = "staged", task.Part{}, &task.Stage{Image: "tool:1"}
	staged.Judge.Setup = []string{"fail"}
	bad := someTask()
	bad.Name, bad.Image, bad.Base = "bad", "", &task.Base{Name: "broken", Image: "python:1", PostInstall: "RUN fail"}
	worse := bad
	worse.Name = "worse"
	f.AddRemote("r.example/tool:1", container.ImageConfig{}, nil)
	got := told(t, b, Build, bad, worse, good, staged)
	want := []string{
		"base failed", "work failed", "judge failed",
		"base failed", "work failed", "judge failed",
		"base built edge.base.py", "work built edge.work.tree", "judge built edge.judge.tree",
		"work cached python", "judge failed", "run stage pulled tool",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	fails := 0
	for _, line := range sh.ran {
		if line == "fail" {
			fails++
		}
	}
	if fails != 2 { // the broken base once, and the judge of staged
		t.Errorf("%d commands failed, want 2: %q", fails, sh.ran)
	}
	want = []string{"base cached edge.base.py", "work cached edge.work.tree", "judge cached edge.judge.tree"}
	if diff := cmp.Diff(want, told(t, b, Build, good)); diff != "" {
		t.Error(diff)
	}
	want = []string{"base pushed r.example/edge.base.py", "work pushed r.example/edge.work.tree", "judge pushed r.example/edge.judge.tree", "judge failed"}
	if diff := cmp.Diff(want, told(t, b, Push, good, staged)); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Image(t.Context(), "r.example/edge.base.py"); err == nil {
		t.Error("the name of the push stays")
	}
}

// prebuilt is one whose images have names that its format fixes.
func prebuilt(name string) task.Task {
	return task.Task{
		Benchmark: "demo", Name: name, Workdir: "/w", Base: &task.Base{Name: "py", Image: "absent:1", Ref: "demo.base.py:1"},
		Work:  task.Part{Setup: []string{"true"}, Ref: "demo.work." + name + ":1"},
		Judge: task.Judge{FromBase: true, Part: task.Part{Setup: []string{"true"}, Ref: "demo.judge." + name + ":1"}},
	}
}

func TestABatchAsksForNoBaseThatNothingNeeds(t *testing.T) {
	for _, verb := range []string{Pull, Build} {
		b, f, _ := builderOnFake(t, nil)
		b.opts.Registry = "r.example"
		for _, name := range []string{"demo.work.t", "demo.judge.t", "demo.work.half"} {
			f.AddRemote("r.example/"+name+":1", container.ImageConfig{}, nil)
		}
		var asked []string
		f.Intercept(func(call, target string) error {
			if call == "Pull" {
				asked = append(asked, target)
			}
			return nil
		})
		if diff := cmp.Diff([]string{"work pulled demo.work.t", "judge pulled demo.judge.t"}, told(t, b, verb, prebuilt("t"))); diff != "" {
			t.Errorf("%s: %s", verb, diff)
		}
		if diff := cmp.Diff([]string{"r.example/demo.work.t:1", "r.example/demo.judge.t:1"}, asked); diff != "" {
			t.Errorf("%s asks for: %s", verb, diff)
		}
		want := []string{"work pulled demo.work.half", "base failed", "judge failed"}
		if verb == Pull {
			want = []string{"work pulled demo.work.half", "judge failed"} // nothing is made of a base
		}
		if diff := cmp.Diff(want, told(t, b, verb, prebuilt("half"))); diff != "" {
			t.Errorf("%s of what is there in part: %s", verb, diff)
		}
		if diff := cmp.Diff([]string(nil), told(t, b, Push)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"work pushed r.example/demo.work.t", "judge pushed r.example/demo.judge.t"}, told(t, b, Push, prebuilt("t"))); diff != "" {
			t.Errorf("without its base: %s", diff)
		}
	}
}

func TestAFailureHasTheAnswerOfTheRegistry(t *testing.T) {
	b, f, _ := builderOnFake(t, nil)
	b.opts.Registry = "r.example"
	f.Intercept(func(call, target string) error {
		if call == "Pull" && strings.HasPrefix(target, "r.example/") {
			return fmt.Errorf("%w: r.example: no access to this project", container.ErrDenied)
		}
		return nil
	})
	for _, verb := range []string{Pull, Build} {
		batch, err := b.Batch(verb)
		if err != nil {
			t.Fatal(err)
		}
		batch.Task(t.Context(), prebuilt("t"), nil, func(m Made) {
			if m.State != "failed" || m.Role != container.RoleBase && !strings.Contains(m.Error, "no access to this project") {
				t.Errorf("%s: %+v", verb, m)
			}
		})
	}
	f.Intercept(func(call, target string) error {
		if call == "Pull" && strings.HasPrefix(target, "r.example/") {
			return fmt.Errorf("%w: manifest unknown", container.ErrNotFound)
		}
		return nil
	})
	if _, err := b.Pull(t.Context(), "x:1", ""); err == nil || !strings.Contains(err.Error(), "the registry of the settings said: ") || !strings.Contains(err.Error(), "manifest unknown") {
		t.Errorf("what no registry has: %v", err)
	}
}

// TestABatchAsksARegistryThatIsOutOfReachOnce for all images, and does not wait for it.
func TestABatchAsksARegistryThatIsOutOfReachOnce(t *testing.T) {
	for _, verb := range []string{Pull, Build} {
		synctest.Test(t, func(t *testing.T) {
			b, f, _ := builderOnFake(t, nil)
			asked := 0
			f.Intercept(func(call, _ string) error {
				if call != "Pull" {
					return nil
				}
				asked++
				return fmt.Errorf("%w: %w: dial tcp 192.0.2.1:443: connection refused", container.ErrRegistry, container.ErrNoAnswer)
			})
			batch, err := b.Batch(verb)
			if err != nil {
				t.Fatal(err)
			}
			began, whole, failed := time.Now(), 0, 0
			for i := range 20 {
				tk := prebuilt(fmt.Sprint("t", i))
				tk.Base.Name, tk.Base.Image = fmt.Sprint("py", i), fmt.Sprintf("absent:%d", i)
				batch.Task(t.Context(), tk, nil, func(m Made) {
					switch {
					case strings.Contains(m.Error, "connection refused"):
						whole++
					case m.Error != errNoParent.Error() && !strings.Contains(m.Error, "registry out of reach: docker.io, as is told of another image"):
						t.Errorf("%s: %+v", verb, m)
					}
					failed++
				})
			}
			if asked != 1 || whole != 1 || failed < 40 || time.Since(began) > time.Second {
				t.Errorf("%s: asked %d times in %v, %d of %d failures have the answer", verb, asked, time.Since(began), whole, failed)
			}
		})
	}
}

func TestImagesArePushedAndPulledBackOnDocker(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	var busy atomic.Int64
	memory := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if busy.Add(-1) >= 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		memory.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	b, e, owner := builderOnDocker(t, []string{"/probe", "sleep", "1h"}, trees{"skeleton": {"a.txt": "hello"}})
	b.opts.Registry = strings.TrimPrefix(server.URL, "http://") + "/bench"
	ref := containertest.ProbeImage(t, e, owner)
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil {
			t.Error(err)
		}
	})
	tk := task.Task{
		Benchmark: "demo", Name: owner, Image: ref, Workdir: "/work",
		Work:  task.Part{Context: task.Tree{Digest: "skeleton"}},
		Judge: task.Judge{Part: task.Part{Files: map[string]string{"b.txt": "b"}}},
	}
	do := func(verb string) (all []Made) {
		t.Helper()
		batch, err := b.Batch(verb)
		if err != nil {
			t.Fatal(err)
		}
		batch.Task(t.Context(), tk, nil, func(m Made) {
			if m.Error != "" {
				t.Errorf("%s: %+v", verb, m)
			}
			all = append(all, m)
		})
		return all
	}
	built := do(Build)
	pushed := do(Push)
	if len(built) != 2 || len(pushed) != 2 {
		t.Fatalf("built %+v, pushed %+v", built, pushed)
	}
	for _, m := range []Made{built[1], built[0]} {
		img, err := e.Image(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range img.Refs {
			if err := e.RemoveImage(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	busy.Store(2)
	pulled := do(Pull)
	for i, m := range pulled {
		if m.State != "pulled" || m.ID != built[i].ID || m.Digest != pushed[i].Digest || m.Digest == "" {
			t.Errorf("pulled %+v, pushed %+v, built %+v", m, pushed[i], built[i])
		}
	}
	if again := do(Pull); again[0].State != "cached" || again[1].State != "cached" {
		t.Errorf("again: %+v", again)
	}
}
