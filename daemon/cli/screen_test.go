//go:build linux

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/daemon/api"
)

// TestTextIsShownAsItIs goes through pieces of output and what a terminal gets of them.
func TestTextIsShownAsItIs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"text", []string{"a\tb\n", "grün 世界 👍\n"}, "a\tb\ngrün 世界 👍\n"},
		{"a sequence", []string{"\x1b[2J\x1b]0;title\a"}, `\x1b[2J\x1b]0;title\x07`},
		{"a sequence in pieces", []string{"\x1b", "[2J"}, `\x1b[2J`},
		{"a sequence of one character", []string{"\u009b2J"}, `\u009b2J`},
		{"that is no UTF-8", []string{"\x9b2J\xff"}, `\x9b2J\xff`},
		{"a line that is written over", []string{"ok\rno\b\x7f"}, `ok\x0dno\x08\x7f`},
		{"the lines of another system", []string{"a\r\nb\r", "\nc"}, "a\nb\nc"},
		{"a character in pieces", []string{"\xe4\xb8", "\x96"}, "世"},
		{"a character that does not end", []string{"a\xe4\xb8"}, `a\xe4\xb8`},
		{"the order of letters", []string{"a\u202eb\u2066\u200b\u2028"}, `a\u202eb\u2066\u200b\u2028`},
		{"nothing", []string{"", "a", ""}, "a"},
	} {
		var out bytes.Buffer
		s := &screen{w: &out}
		for _, piece := range tt.pieces {
			if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%s: wrote %d of %d bytes: %v", tt.name, n, len(piece), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}

// TestATerminalActsOnNothingThatAnAgentWrote runs commands on a real terminal, before a daemon whose
// agent writes what takes terminals over, and into a file.
func TestATerminalActsOnNothingThatAnAgentWrote(t *testing.T) {
	const hostile = "before\x1b[2J\x1b]52;c;ZXZpbA==\x07\u009b31m\x9b\rafter\n"
	state, err := os.MkdirTemp("/tmp", "a") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	l, err := net.Listen("unix", api.Socket(state))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostile) })
	mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"version":"test"}`) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":"no \u001b[2J trial"}`)
	})
	server := &http.Server{Handler: mux} //nolint:gosec // nobody but this test asks
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	spec := filepath.Join(state, "a.hcl")
	if err := os.WriteFile(spec, []byte("run \"x\" { evil = \"\x1b[2J\u009b\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"logs", "t"}, {"submissions", "t"}, {"validate", spec}} {
		shown := onTerminal(t, append(args, "--state", state))
		for _, evil := range []string{"\x1b", "\a", "\u009b", "\x9b"} {
			if strings.Contains(shown, evil) {
				t.Errorf("%s: the terminal gets %q in %q", args[0], evil, shown)
			}
		}
		if !strings.Contains(shown, "[2J") {
			t.Errorf("%s: the terminal shows %q", args[0], shown)
		}
	}
	var file, problems bytes.Buffer
	if Main(t.Context(), []string{"logs", "t", "--state", state}, &file, &problems, "test"); file.String() != hostile {
		t.Errorf("a file gets %q and is told %q", file.String(), problems.String())
	}
}

// onTerminal runs a command on a terminal and returns what that got.
func onTerminal(t *testing.T, args []string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("this test needs a terminal: %v", err)
	}
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(ours) // ends with an error where the other end is closed
		got <- text
	}()
	Main(t.Context(), args, theirs, theirs, "test")
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	text := <-got
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	return string(text)
}
