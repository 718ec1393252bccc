package image

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
)

func TestCollectRemovesTheLeastRecentlyUsedThatNobodyNeeds(t *testing.T) {
	start := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name   string
		keep   int64
		before time.Duration // since start
		needed string        // task
		used   string        // task with a container
		over   time.Duration // since start, when the last run over the new task ended; zero = none did
		want   string
	}{
		{"no room", 0, time.Hour, "", "", 0, "judge.old work.old judge.new work.new base.py"},
		{"room for one task", 250, time.Hour, "", "", 0, "judge.old work.old"},
		{"room for all", 1 << 20, time.Hour, "", "", 0, ""},
		{"an open trial's stay", 0, time.Hour, "old", "", 0, "judge.new work.new"},
		{"used of late", 0, 90 * time.Second, "", "", 0, "judge.old work.old"},
		{"used of late by a run that is over", 0, 90 * time.Second, "", "", 3 * time.Minute, "judge.old work.old judge.new work.new base.py"},
		{"used since a run was over", 0, 90 * time.Second, "", "", 100 * time.Second, "judge.old work.old"},
		{"over, and an open trial's", 0, 90 * time.Second, "new", "", 3 * time.Minute, "judge.old work.old"},
		{"with a container", 0, time.Hour, "", "old", 0, "judge.new work.new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f, _ := builderOnFake(t, nil)
			base := &task.Base{Name: "py", Image: "python:1", PostInstall: "RUN touch /base"}
			built := map[string]Built{}
			for _, name := range []string{"old", "new"} {
				tk := task.Task{
					Benchmark: "edge", Name: name, Base: base, Workdir: "/w",
					Work:  task.Part{Files: map[string]string{"a": strings.Repeat(name[:1], 100)}},
					Judge: task.Judge{Part: task.Part{Files: map[string]string{"b": strings.Repeat(name[:1], 100)}}},
				}
				got, err := b.Judge(t.Context(), tk, nil)
				if err != nil {
					t.Fatal(err)
				}
				built[name] = got
			}
			f.AddImage("edge.work.stranger:1", container.ImageConfig{Labels: map[string]string{LabelImageOwner: "o2"}}, nil)
			// What somebody makes from one of ours inherits its labels.
			f.AddImage("mine:1", built["old"].Config, nil)
			if err := f.Tag(t.Context(), built["old"].Ref, "r.example/pushed:1"); err != nil {
				t.Fatal(err)
			}
			if img := built[c.used]; c.used != "" {
				if _, err := f.Start(t.Context(), container.Workload{Name: "user", Image: img.ID, Argv: []string{"/hold"}}); err != nil {
					t.Fatal(err)
				}
			}
			g := Garbage{Keep: c.keep, Before: start.Add(c.before), Needed: map[string]bool{built[c.needed].ID: true}, Used: func(ref string) time.Time {
				if strings.Contains(ref, ".new:") || strings.Contains(ref, ".base.") {
					return start.Add(2 * time.Minute)
				}
				return start.Add(time.Minute)
			}}
			if c.over > 0 {
				g.Over = map[string]time.Time{built["new"].ID: start.Add(c.over)}
			}
			for _, dry := range []bool{true, false, false} {
				g.Dry = dry
				gone, err := b.Collect(t.Context(), g)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, one := range gone {
					name, _, _ := strings.Cut(strings.TrimPrefix(one.Name, "edge."), ":")
					names = append(names, name)
				}
				if diff := cmp.Diff(c.want, strings.Join(names, " ")); diff != "" && !(c.used != "" && dry) {
					t.Errorf("dry %t: %s", dry, diff)
				}
				if !dry {
					c.want = "" // the next finds nothing
				}
			}
			for _, ref := range []string{"python:1", "edge.work.stranger:1", "mine:1"} {
				if _, err := f.Image(t.Context(), ref); err != nil {
					t.Errorf("somebody else's %s: %v", ref, err)
				}
			}
			if _, err := f.Image(t.Context(), built["old"].Ref); c.needed+c.used == "old" && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPresentMakesNothing(t *testing.T) {
	b, f, sh := builderOnFake(t, someTrees)
	f.AddRemote("edge.work.tree:1", container.ImageConfig{}, nil)
	f.Intercept(func(call, _ string) error {
		if call == "Pull" || call == "Start" || call == "Commit" {
			return errors.New(call + " by a look")
		}
		return nil
	})
	if ids, err := b.Present(t.Context(), someTask()); err != nil || len(ids) != 0 {
		t.Errorf("got %q, %v", ids, err)
	}
	f.Intercept(nil)
	judge, err := b.Judge(t.Context(), someTask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := len(sh.ran)
	ids, err := b.Present(t.Context(), someTask())
	if diff := cmp.Diff([]string{judge.Parent, judge.ID}, ids); err != nil || diff != "" || len(sh.ran) != ran {
		t.Errorf("%v %s", err, diff)
	}
	f.SetDown(true)
	if _, err := b.Present(t.Context(), someTask()); !container.Unavailable(err) {
		t.Errorf("an engine that is down: %v", err)
	}
}
