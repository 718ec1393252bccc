package judge

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// A hidden file that cannot be read is no proof against a submission as long as another look shows it
// as it was laid.
func TestAHiddenFileIsLookedAtAgainWhereItCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		failures int32
		want     round.Status
	}{"each time": {99, round.StatusTampered}, "once": {1, round.StatusOK}, "twice": {2, round.StatusOK}, "never": {0, round.StatusOK}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", b.withTests)
				var ran atomic.Bool
				var failed atomic.Int32
				b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					if cmd.Argv[0] != "/judge" {
						return 1 // there is no guest: files are compared one by one
					}
					shows(c, cmd.Stdout)
					ran.Store(true)
					return 0
				})
				b.fake.Intercept(func(call, _ string) error {
					if call == "CopyFrom" && ran.Load() && failed.Add(1) <= tc.failures {
						return errors.New("unexpected end of a stream")
					}
					return nil
				})
				r := b.judgeOne(t, "t", judgetest.File("src/answer", "x")).Report
				if r.Status != tc.want || tc.want == round.StatusTampered && !strings.Contains(r.Problem, "tests/test_a.py") {
					t.Errorf("%s: %s", r.Status, r.Problem)
				}
			})
		})
	}
}
