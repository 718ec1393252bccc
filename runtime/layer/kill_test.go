package layer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// victim makes a child of the test binary make a layer and collect it, in the folder that the
// variable names.
const victim = "ASSAYD_LAYER_TEST_VICTIM"

func suffer(dir string) {
	err := func() error {
		s, err := Open(dir, Options{Registry: os.Getenv(victim + "_REGISTRY")})
		if err != nil {
			return err
		}
		l, err := s.Packages(context.Background(), []Package{{Name: "agent", Version: "1.0.0"}})
		if err != nil {
			return err
		}
		old := time.Now().Add(-2 * grace)
		if err := os.Chtimes(l.Dir, old, old); err != nil {
			return err
		}
		_, err = s.Collect(context.Background(), func(string) bool { return false })
		return err
	}()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// Killed at any step, a layer is whole or not there, nothing of it is left over, and the next
// daemon makes it again.
func TestKilledAtAnyStepALayerIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "victim")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "faults", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the victim: %v\n%s", err, out)
	}
	shop := newShop(t)
	data := packed(t, entry{name: "bin/agent", text: "elf", mode: 0o755})
	p := shop.sell("agent", "1.0.0", data)
	whole := []string{"755 ./", "755 agent/", "755 agent/bin/", "755 agent/bin/agent=elf"}
	for _, point := range fault.Layers {
		dir := t.TempDir()
		child := exec.CommandContext(t.Context(), program)
		child.Env = append(os.Environ(), victim+"="+dir, victim+"_REGISTRY="+shop.URL, "ASSAYD_FAULT_KILL="+string(point))
		out, err := child.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: it was not killed: %v\n%s", point, err, out)
		}
		layers, err := filepath.Glob(filepath.Join(dir, "layers", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, there := range layers {
			if got := files(t, there); strings.Join(got, "\n") != strings.Join(whole, "\n") {
				t.Errorf("%s: there is %q", point, got)
			}
		}
		shop.sold()
		s := shop.open(dir)
		for _, left := range files(t, s.workshop())[1:] {
			if strings.Contains(left, treeName) || strings.Contains(left, goneName) {
				t.Errorf("%s: there is still %s", point, left)
			}
		}
		if got := files(t, made(t, s, p).Dir); strings.Join(got, "\n") != strings.Join(whole, "\n") {
			t.Errorf("%s: made again, it is %q", point, got)
		}
		if asked := shop.sold(); len(asked) > 0 && point != fault.LayerRemoved {
			t.Errorf("%s: it was downloaded once more: %q", point, asked)
		}
		if _, err := s.Collect(t.Context(), func(string) bool { return true }); err != nil {
			t.Error(err)
		}
	}
}
