package judge

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// What is submitted may run before its tests do, as that which is installed first.
func TestNothingPrintedBeforeTheTestsIsAResult(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		rate   float64
	}{
		"an honest run":      {"installed\n>>> tests\na passed\n", 1},
		"a forged beginning": {"a passed\n>>> tests\n", 0},
		"a forged mark":      {">>> tests\na passed\nmore\n>>> tests\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var armed string
				b := newFixture(t, func(o *Options) {
					o.Parsers = func(name string) (parser.Parser, bool) {
						p, ok := lineParser(name)
						p.Tripwire = func(s parser.Site) (parser.Tripwire, bool) {
							armed = s.Command
							return parser.Tripwire{}, false
						}
						return p, ok
					}
				})
				b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
					_, _ = io.WriteString(cmd.Stdout, c.output)
					return 0
				})
				b.open("t", func(s *round.Session) {
					s.Task.FailToPass = []string{"a"}
					s.Task.Judge.Window = &task.Window{Mark: ">>> tests", Command: "runner -v"}
				})
				if r := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID).Report; r.PassRate != c.rate {
					t.Errorf("%+v", r)
				}
				if armed != "runner -v" {
					t.Errorf("the tripwire was built for %q", armed)
				}
			})
		})
	}
}
