package cheat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever an agent writes, the time is in proportion to it. Four times as much may take ten
// times as long on a busy machine, and never sixty.
func TestHostileTextsTakeTimeInProportion(t *testing.T) {
	for name, text := range map[string]func(n int) string{
		"open parentheses":    func(n int) string { return strings.Repeat("(", n) },
		"substitutions":       func(n int) string { return strings.Repeat("$(", n) },
		"back quotes":         func(n int) string { return strings.Repeat("`", n) },
		"escaped back quotes": func(n int) string { return strings.Repeat("\\`", n) },
		"keywords":            func(n int) string { return strings.Repeat("if ", n/3) },
		"negations":           func(n int) string { return strings.Repeat("! ", n/2) + "git log --all" },
		"pipes":               func(n int) string { return strings.Repeat("a|", n/2) + "a" },
		"here-documents":      func(n int) string { return strings.Repeat("cat <<A\n", n/8) },
		"growing variables":   func(n int) string { return "a=xxxxxxxx\n" + strings.Repeat("a=$a$a\n", n/7) + "echo $a $a $a" },
		"shells in shells":    func(n int) string { return strings.Repeat("sh -c ", n/6) + "ls" },
		"evals":               func(n int) string { return strings.Repeat("eval ", n/5) + "ls" },
		"quotes":              func(n int) string { return strings.Repeat("'\"", n/2) },
		"paths":               func(n int) string { return "cat " + strings.Repeat("../", n/3) },
		"many words":          func(n int) string { return "cat " + strings.Repeat("a ", n/2) },
		"braces":              func(n int) string { return strings.Repeat("${a:-", n/5) },
		"arithmetic":          func(n int) string { return "$((" + strings.Repeat("1+(", n/3) },
		"signs":               func(n int) string { return "$((" + strings.Repeat("-", n) + "1))" },
		"tests":               func(n int) string { return "[[ " + strings.Repeat("! (", n/3) },
		"lines in arithmetic": func(n int) string { return "$((" + strings.Repeat("(\n", n/2) },
		"quoted closers":      func(n int) string { return "$((" + strings.Repeat("(')'+", n/5) },
		"ternaries":           func(n int) string { return "$((" + strings.Repeat("1?", n/2) },
		"powers":              func(n int) string { return "$((" + strings.Repeat("2**", n/3) },
		"sums":                func(n int) string { return "echo $((" + strings.Repeat("1+", n/2) + "1))" },
		"subscripts":          func(n int) string { return strings.Repeat("a[", n/2) },
		"alternatives":        func(n int) string { return strings.Repeat("a||", n/3) + "a" },
		"conditions":          func(n int) string { return "[[ " + strings.Repeat("a && ", n/5) + "a ]]" },
		"blocks":              func(n int) string { return strings.Repeat("{\n", n/2) },
	} {
		const small = 30 << 10 // both are parsed
		few, many := taken(t, text(small)), taken(t, text(4*small))
		if many > 60*max(few, 20*time.Millisecond) {
			t.Errorf("%s: %v for %d bytes, %v for four times as many", name, few, small, many)
		}
		_ = taken(t, text(maxParsed-1<<10))
		_ = taken(t, text(maxParsed+1)) // this is not
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.StackSys > 200<<20 { // at 1 GB the process ends
		t.Errorf("stacks have grown to %d bytes", memory.StackSys)
	}
}

func taken(t *testing.T, command string) time.Duration {
	t.Helper()
	p := speeches()[1]
	r := played(t, p.protocol, p.bash(command))
	begin := spent(t)
	if _, err := Look(t.Context(), facts(), Sources{Transcript: r}); err != nil {
		t.Logf("%.60q: %v", command, err)
	}
	return spent(t) - begin
}

// spent is the CPU time of this process: what the clock on the wall says is of the machine's
// other work, too.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Scripts that run themselves, and calls that run a big one over and over, have an end, and what
// was not looked at is said.
func TestScriptsThatRunEachOtherHaveAnEnd(t *testing.T) {
	p := speeches()[0]
	for name, tt := range map[string]struct{ script, command string }{
		"scripts of a shell":   {strings.Repeat("sh a.sh; ./a.sh\n", 2000), "sh a.sh"},
		"other code":           {strings.Repeat("open('w').write(x)\n", 3000), strings.Repeat("python a.sh;", 1000)},
		"a text in many files": {"", "tee" + strings.Repeat(" b.py", 1000) + " <<E\n" + strings.Repeat("x = 1\n", 8000) + "E"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearch(t.Context().Err, facts(), tree)
			s.inner = 1 << 20 // it is soon reached
			calls := []call{p.write("a.sh", tt.script), p.bash(tt.command), p.bash("git reflog")}
			found, err := s.look(Sources{Transcript: played(t, p.protocol, calls...)})
			if err == nil || len(found) != 1 || found[0].Where != "exchange 3" {
				t.Errorf("%v and %v, want that not all was looked at, and the finding", err, found)
			}
		})
	}
}

// Who looks may have no time left: what was found until then is told.
func TestALookEndsWithItsTime(t *testing.T) {
	p := speeches()[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := io.MultiReader(strings.NewReader("$ git reflog\n"+strings.Repeat("x\n", 64<<10)), &called{cancel}, &repeated{text: "$ git fetch\n", left: 1 << 40})
	found, err := Look(ctx, facts(), Sources{Log: lines, Transcript: played(t, p.protocol, p.bash("git log --all")), Patch: strings.NewReader("")})
	if !errors.Is(err, context.Canceled) || len(found) != 2 {
		t.Errorf("%v and %v, want what was seen before the end", err, found)
	}
}

// called is a source of nothing that has something happen when it is read.
type called struct{ do func() }

func (c *called) Read([]byte) (int, error) {
	c.do()
	return 0, io.EOF
}

// A log and a diff of any length are read in a stream.
func TestMemoryDoesNotGrowWithTheSources(t *testing.T) {
	lines := func(line string, n int) io.Reader { return &repeated{text: line, left: n} }
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	found, err := Look(t.Context(), facts(), Sources{
		Log:   lines("$ git reflog\n", 50_000),
		Patch: io.MultiReader(strings.NewReader("diff --git a/a.bin b/a.bin\n--- a/a.bin\n+++ b/a.bin\n@@ -0,0 +1 @@\n"), lines("+"+strings.Repeat("x", 1000)+"\n", 20_000)),
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(found) != maxFindings+1 || found[maxFindings].Evidence != fmt.Sprintf("%d more", 50_000-maxFindings) {
		t.Errorf("%v, %d findings", err, len(found))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(found)
}

// repeated is a text again and again.
type repeated struct {
	text string
	left int
	rest string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func FuzzLook(f *testing.F) {
	for _, commands := range cheatingCommands() {
		for _, command := range commands {
			f.Add("Bash", command)
		}
	}
	for _, command := range honestCommands() {
		f.Add("exec_command", command)
	}
	for _, pieces := range cheatingCode() {
		for _, p := range pieces {
			f.Add(p.name, p.text)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		s := newSearch(t.Context().Err, facts(), tree)
		s.inner = 64 << 10
		s.script("here", text, "", 0)
		s.script("here", text, "/tmp", 0)
		s.call("here", name, text)
		s.call("here", "apply_patch", "*** Begin Patch\n"+text)
		s.wrote("here", name, "", text)
		for _, r := range []func() error{
			func() error { return s.log(strings.NewReader(text)) },
			func() error { return s.patch("patch", strings.NewReader(text)) },
			func() error { return s.patch("patch", added("a.py", text)) },
		} {
			if err := r(); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.archive("archive", strings.NewReader(text)) // most texts are no archive
		_ = s.transcript(strings.NewReader(text + "\n"))
		found := s.found()
		for _, finding := range found {
			if len(finding.Evidence) > maxEvidence || strings.Contains(finding.Evidence, "\n") || finding.Rule == "" {
				t.Errorf("%+v", finding)
			}
		}
		if len(found) > 8*(maxFindings+1) {
			t.Errorf("%d findings", len(found))
		}
	})
}
