package judge

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// kept are the submissions whose containers are there, stopped.
func kept(t *testing.T, b *fixture) (ids []string) {
	t.Helper()
	synctest.Wait() // containers are dealt with after the verdict
	for _, c := range containers(t, b) {
		if c.Phase != container.PhaseExited {
			t.Errorf("container %s is %s", c.Name, c.Phase)
		}
		if c.Labels[container.LabelTrial] == "" || c.Labels[container.LabelRole] != container.RoleJudge {
			t.Errorf("container %s has the labels %v", c.Name, c.Labels)
		}
		ids = append(ids, c.Labels[sandbox.LabelSubmission])
	}
	return ids
}

// TestTheContainerOfTheDecidingJudgingStays: one at a time, that of the best round so far.
func TestTheContainerOfTheDecidingJudgingStays(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []string
		want    []int // after each answer, the one whose container is there
	}{
		"the best so far":                                      {[]string{"a failed\nb passed", "a passed\nb passed", "a failed\nb failed"}, []int{0, 1, 1}},
		"of equals the first":                                  {[]string{"a passed", "a passed\n"}, []int{0, 0}},
		"the last where none counts":                           {[]string{"", "x"}, []int{0, 1}},
		"the first that counts after all":                      {[]string{"", "a failed"}, []int{0, 1}},
		"the one that was judged, not what shares its verdict": {[]string{"a passed", "a passed"}, []int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Keep = true })
				var ids []string
				for i, answer := range tc.answers {
					ids = append(ids, b.judged(t, b.submit(t, "t", round.KindAgent, answer).ID).ID)
					if got := kept(t, b); !slices.Equal(got, []string{ids[tc.want[i]]}) {
						t.Errorf("after %q of %q the containers of %q are kept", ids[i], ids, got)
					}
				}
				if err := b.Retain(t.Context(), "t", true); err != nil || len(kept(t, b)) != 1 {
					t.Errorf("the end of a trial that keeps it leaves %q, %v", kept(t, b), err)
				}
				if err := b.Retain(t.Context(), "t", false); err != nil || len(kept(t, b)) != 0 {
					t.Errorf("the end of a trial that does not leaves %q, %v", kept(t, b), err)
				}
			})
		})
	}
}

func TestWhereAPrivateSetDecidesItsContainerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", b.withPrivate(t), func(s *round.Session) { s.Keep = true })
		best := b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
		worse := b.judged(t, b.submit(t, "t", round.KindFinal, "a failed").ID)
		if got := kept(t, b); !slices.Equal(got, []string{best.ID}) {
			t.Errorf("before it %q are kept, want %q", got, best.ID)
		}
		var asked []string
		for _, round := range []round.Submission{best, worse} {
			sub, err := b.Private(t.Context(), "t", round)
			if err != nil {
				t.Fatal(err)
			}
			asked = append(asked, b.judged(t, sub.ID).ID)
		}
		if got := kept(t, b); !slices.Equal(got, asked[:1]) {
			t.Errorf("%q are kept, want that of the best round by the private set, %q", got, asked[0])
		}
	})
}

// TestAContainerThatDecidesStaysThoughAnotherJudgingEndsBeforeItIsStopped: the engine may take
// its time to stop it, and its verdict is out already.
func TestAContainerThatDecidesStaysThoughAnotherJudgingEndsBeforeItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Keep = true })
		var once sync.Once
		stopped := make(chan struct{})
		b.fake.Intercept(func(call, _ string) error {
			first := false
			if call == "Stop" {
				once.Do(func() { first = true })
			}
			if first {
				<-stopped
			}
			return nil
		})
		best := b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
		synctest.Wait()
		b.judged(t, b.submit(t, "t", round.KindAgent, "a failed").ID)
		synctest.Wait()
		close(stopped)
		if got := kept(t, b); !slices.Equal(got, []string{best.ID}) {
			t.Errorf("%q are kept, want that of the best round, %q", got, best.ID)
		}
	})
}

// TestOfStagesTheGradeContainerStays: it has the hidden files.
func TestOfStagesTheGradeContainerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.staged(t, "t", func(s *round.Session) { s.Keep = true })
		sub := b.judgeOne(t, "t", judgetest.File("src/answer", "a passed"))
		if got := kept(t, b); !slices.Equal(got, []string{sub.ID}) {
			t.Fatalf("%q are kept", got)
		}
		want(t, b.fake.Container(containers(t, b)[0].ID), "/work/expected", "a passed")
	})
}

// TestAJudgingThatBreaksOffLeavesNoContainer: it is judged again by the next daemon.
func TestAJudgingThatBreaksOffLeavesNoContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		begun, hold := make(chan struct{}), make(chan struct{})
		b.fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int {
			close(begun)
			<-hold
			return 0
		})
		b.open("t", func(s *round.Session) { s.Keep = true })
		b.submit(t, "t", round.KindAgent, "a passed")
		<-begun
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			b.stop()
		}()
		synctest.Wait()
		close(hold)
		<-stopped
		if got := kept(t, b); len(got) != 0 {
			t.Errorf("%q are kept", got)
		}
	})
}
