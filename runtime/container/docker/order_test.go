package docker_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

// What a shell's command writes to its output and as errors comes in the order in which it
// was written, for runners of tests tell half a story on each.
func TestOutputAndErrorsOfAShellKeepTheirOrder(t *testing.T) {
	e, owner := dockertest.New(t)
	c, err := e.Start(t.Context(), container.Workload{
		Name: "assayd-order-test-" + containertest.Unique(), Image: "assayd-base/python:1", Argv: []string{"sleep", "10m"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	const script = `i=0; while [ $i -lt 1000 ]; do echo $i; echo $((i+1)) >&2; i=$((i+2)); done; cat; exit 3`
	var want strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&want, i)
	}
	want.WriteString("and its input")
	for _, argv := range [][]string{{"/bin/sh", "-c", script}, {"bash", "-c", script}} {
		var out bytes.Buffer
		code, err := e.Exec(t.Context(), c.ID, container.Command{Argv: argv, Stdin: strings.NewReader("and its input"), Stdout: &out, Stderr: &out})
		if err != nil || code != 3 || out.String() != want.String() {
			t.Errorf("%s: exit %d, %v, %d bytes in another order:\n%s", argv[0], code, err, out.Len(), firstDifference(out.String(), want.String()))
		}
	}
	var out, errs bytes.Buffer
	code, err := e.Exec(t.Context(), c.ID, container.Command{Argv: []string{"/bin/sh", "-c", "echo out; echo err >&2"}, Stdout: &out, Stderr: &errs})
	if err != nil || code != 0 || out.String() != "out\n" || errs.String() != "err\n" {
		t.Errorf("with two writers: exit %d, %v, %q and %q", code, err, out.String(), errs.String())
	}
}

// firstDifference shows where two texts part, by lines.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q, want %q", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}
