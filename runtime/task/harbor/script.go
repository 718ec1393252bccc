package harbor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// writeTests writes tests/: those of a task of this format as they were, else a test.sh that
// judges as we do.
func writeTests(w *folder.Writer, t task.Task, trees task.Trees) {
	switch {
	case moved(t):
		w.Part("tests", t.Judge.Context, testsAside, trees)
	case dockerfile.OnWork(t):
		w.Made("tests/test.sh", begin(t)+dockerfile.Overlay(w, "tests", "/tests", t, trees)+judging(t))
	case native(t):
		dockerfile.Judge(w, "tests", t, trees)
	default:
		dockerfile.Judge(w, "tests", t, trees, "COPY test.sh /tests/test.sh")
		w.Made("tests/test.sh", begin(t)+judging(t))
	}
}

func begin(t task.Task) string {
	return "#!/bin/bash\n# Written by assayd from its own form of this task.\nmkdir -p /logs/verifier && chmod 777 /logs/verifier\ncd " + dockerfile.Quote(t.Workdir) + " || exit 1\n"
}

// judgedBy is whom tests run as: root, where things are put in place first.
func judgedBy(t task.Task) string {
	if dockerfile.OnWork(t) && !moved(t) {
		return "root"
	}
	return cmp.Or(t.Judge.User, t.Work.User)
}

// judging runs what decides, and leaves its verdict where Harbor looks for it.
func judging(t task.Task) string {
	run := dockerfile.Run
	if dockerfile.OnWork(t) {
		run = dockerfile.RunAs(cmp.Or(t.Judge.User, t.Work.User))
	}
	if t.Judge.Command.Empty() {
		var b strings.Builder
		b.WriteString("reward=1\n")
		for _, command := range dockerfile.Commands(t) {
			fmt.Fprintf(&b, "%s || reward=0\n", run(command))
		}
		return b.String() + "echo $reward >/logs/verifier/reward.txt\n"
	}
	command := run(dockerfile.CommandText(t.Judge.Command))
	switch t.Judge.Parser {
	case "reward":
		return command + "\n[ -e /logs/verifier/reward.json ] || [ -e /logs/verifier/reward.txt ] || cp reward.json reward.txt /logs/verifier/ 2>/dev/null\n"
	case "score_sum":
		return command + ` | tee /logs/verifier/output.txt
sed -n 's/^TOTAL_SCORE[: =]*\([0-9.][0-9.]*\).*/\1/p' /logs/verifier/output.txt | tail -n 1 >/logs/verifier/reward.txt
`
	}
	return "if " + command + "; then reward=1; else reward=0; fi\necho $reward >/logs/verifier/reward.txt\n"
}

// writeSolution writes solution/solve.sh and what it uses.
func writeSolution(w *folder.Writer, t task.Task, trees task.Trees) {
	if t.Solution == nil {
		return
	}
	in := "#!/bin/bash\ncd " + dockerfile.Quote(t.Workdir) + " || exit 1\n"
	switch s := *t.Solution; {
	case s.Script != "":
		w.Made("solution/solution.sh", s.Script)
		w.Made("solution/solve.sh", in+"exec /bin/sh /solution/solution.sh\n")
	case s.Patch != nil:
		w.Made("solution/solution.patch", string(s.Patch))
		w.Made("solution/solve.sh", in+"exec git -c safe.directory='*' apply --whitespace=nowarn /solution/solution.patch\n")
	default:
		w.Tree("solution/tree", s.Context, trees)
		w.Made("solution/solve.sh", in+"exec cp -a /solution/tree/. .\n")
	}
}
