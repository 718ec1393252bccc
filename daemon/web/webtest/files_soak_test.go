//go:build soak && linux

package webtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// many is a run of 300 trials that take no time.
const many = `
run "many" {
  tasks     = [benchmark.roman]
  attempts  = 300
  timeout   = "5m"
  auto_eval = "0s"
  parallel  = 4
  agent "nop" {}
  work {
    cpus = 0.5
  }
  judge {
    cpus = 0.5
  }
}
`

// The pages of 300 trials open from the disk: the run, any of its trials, and back; with --public no hidden file is told of.
func TestSoakThreeHundredTrialsInFiles(t *testing.T) {
	s := newSite(t)
	s.put("q")
	file := filepath.Join(s.dir, "specs", "many.hcl")
	s.check(os.WriteFile(file, []byte(many), 0o600))
	if text, err := exec.CommandContext(t.Context(), s.program(), "run", file, "--state", filepath.Join(s.dir, "s")).CombinedOutput(); err != nil {
		t.Fatalf("the run of 300 trials: %v\n%s", err, text)
	}
	b := s.browser()
	for _, args := range [][]string{{"--with", "tests,outputs,logs,steps,diffs"}, {"--public"}} {
		dir := filepath.Join(s.dir, "html"+args[0])
		args = append([]string{"export", "html", "run.many", dir, "--state", filepath.Join(s.dir, "s")}, args...)
		if text, err := exec.CommandContext(t.Context(), s.program(), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		b.asks("") // but files
		b.do(chromedp.Navigate("file://" + dir + "/index.html"))
		b.shows("run.many e1")
		b.shows("Of 300 trials")
		first := b.value(`document.querySelector("#trials tbody a").innerText`)
		b.follow(`#trials tbody a`, first)
		b.shows("Rounds")
		if args[len(args)-1] == "--public" {
			s.tellsNothing(dir)
		}
	}
}
