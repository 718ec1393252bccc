package judge

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/task"
)

// TestLook: what keeps all rounds of a trial from being judged is known before there are any.
func TestLook(t *testing.T) {
	overFolder := errors.New("a file cannot take the place of a folder")
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *fixture, *round.Session)
		copied error  // what the engine says to what is copied into a container
		want   string // the attribute that the task's author must mend; "" = none
		err    error  // of the machinery
	}{
		{"all is well", func(t *testing.T, b *fixture, s *round.Session) { b.withPrivate(t)(s) }, nil, "", nil},
		{"a user who is not there", func(_ *testing.T, _ *fixture, s *round.Session) { s.Task.Judge.User = "nobody" }, nil, "judge.user", nil},
		{"a group that is not there", func(_ *testing.T, _ *fixture, s *round.Session) { s.Task.Judge.User = "agent:nobody" }, nil, "judge.user", nil},
		{"a private set that does not fit", func(t *testing.T, b *fixture, s *round.Session) { b.withPrivate(t)(s) }, overFolder, "private.context", nil},
		{"a stage that does not fit", func(t *testing.T, b *fixture, s *round.Session) {
			s.Task.Judge.Run = &task.Stage{Outputs: []string{"out"}}
			s.Task.Judge.Grade = &task.Stage{Context: b.tree(t, judgetest.File("src", "x"))}
		}, overFolder, "judge.stage", nil},
		{"an engine that is away", func(t *testing.T, b *fixture, s *round.Session) { b.withPrivate(t)(s) }, container.ErrUnavailable, "", container.ErrUnavailable},
		{"a tree that is lost", func(_ *testing.T, _ *fixture, s *round.Session) {
			s.Task.Private = &task.Private{Context: task.Tree{Digest: "lost"}}
		}, nil, "", fs.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.fake.Intercept(func(call, _ string) error {
				if call == "CopyTo" {
					return tt.copied
				}
				return nil
			})
			b.open("t", func(s *round.Session) { tt.change(t, b, s) })
			err := b.Look(t.Context(), "t")
			attribute := ""
			if unsound, ok := errors.AsType[*sandbox.ImageError](err); ok {
				attribute = unsound.Attribute
			}
			if attribute != tt.want || tt.err != nil && !errors.Is(err, tt.err) || (err == nil) != (tt.want == "" && tt.err == nil) {
				t.Errorf("%q: %v", attribute, err)
			}
		})
	}
}
