package judge

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// withGuest has a fake engine answer what a judge asks of the guest: the rest goes on to exec.
func (b *fixture) withGuest(exec inContainer) (asked func() []string) {
	var calls []string
	b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		if cmd.Argv[0] != "/guest" {
			return exec(ctx, c, cmd)
		}
		list := ""
		if cmd.Argv[1] == "remove" {
			text, _ := io.ReadAll(cmd.Stdin)
			list = string(text)
			for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
				c.RemoveFile(strings.TrimSuffix(cmd.Workdir, "/") + "/" + name)
			}
		}
		calls = append(calls, strings.Join([]string{cmd.Argv[1], cmd.User, cmd.Workdir, strings.ReplaceAll(list, "\x00", ",")}, " "))
		return 0
	})
	return func() []string { return slices.Clone(calls) }
}

func TestWhatIsGoneIsRemovedBeforeTheRestIsLaidOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Guest = "/guest" })
		calls := b.withGuest(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if _, ok := c.ReadFile("/work/src/old"); ok {
				t.Error("src/old is still there")
			}
			want(t, c, "/work/src/new", "new")
			want(t, c, "/work/tests/hidden", "hidden")
			_, _ = io.WriteString(cmd.Stdout, "a passed\n")
			return 0
		})
		b.open("t", func(s *round.Session) { s.JudgeImage = b.guestImage() })
		sub := b.judgeOne(t, "t", judgetest.Gone("src/old"), judgetest.Gone("tests/hidden"), judgetest.File("src/new", "new"))
		if sub.Report.PassRate != 1 || sub.Dropped != 1 {
			t.Errorf("%+v, %d dropped", sub.Report, sub.Dropped)
		}
		if diff := cmp.Diff([]string{"remove 0:0 /work src/old,"}, calls()); diff != "" {
			t.Error(diff)
		}
	})
}

// guestImage is the image of a bench with a guest in it.
func (b *fixture) guestImage() string {
	return b.fake.AddImage("guest:1", container.ImageConfig{User: "agent"}, map[string]string{
		"/hold": "", "/judge": "", "/guest": "", "/bin/sh": "", "/etc/passwd": "root:x:0:0::/:\nagent:x:1000:1001::/:\n",
		"/work/tests/hidden": "hidden", "/work/src/old": "old",
	}).ID
}

func TestWhatCannotBeRemovedIsNoZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		r := b.judgeOne(t, "t", judgetest.Gone("src/old"), judgetest.File("src/answer", "a passed")).Report
		if r.Status != round.StatusInvalid || !strings.Contains(r.Problem, "no guest") {
			t.Errorf("%s (%s)", r.Status, r.Problem)
		}
	})
}
