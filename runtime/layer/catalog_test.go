package layer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhichPackageAnAgentIsIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agent, version string
		on             Platform
		packages, path string // or what is wrong
	}{
		{"claude-code", "", Platform{Arch: "amd64", Libc: Glibc}, "@anthropic-ai/claude-code-linux-x64@2.1.329", "@anthropic-ai/claude-code-linux-x64/claude"},
		{"claude-code", "2.1.400", Platform{Arch: "arm64", Libc: Musl}, "@anthropic-ai/claude-code-linux-arm64-musl@2.1.400", "@anthropic-ai/claude-code-linux-arm64-musl/claude"},
		{"codex", "", Platform{Arch: "amd64", Libc: NoLibc}, "@openai/codex@0.169.0-linux-x64", "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"},
		{"codex", "0.170.1", Platform{Arch: "arm64", Libc: Glibc}, "@openai/codex@0.170.1-linux-arm64", "@openai/codex/vendor/aarch64-unknown-linux-musl/bin/codex"},
		{"opencode", "", Platform{Arch: "amd64", Libc: Glibc}, "opencode-linux-x64@1.18.33", "opencode-linux-x64/bin/opencode"},
		{"opencode", "", Platform{Arch: "amd64", Libc: Musl, Baseline: true}, "opencode-linux-x64-baseline-musl@1.18.33", "opencode-linux-x64-baseline-musl/bin/opencode"},
		{"opencode", "", Platform{Arch: "arm64", Libc: Musl, Baseline: true}, "opencode-linux-arm64-musl@1.18.33", "opencode-linux-arm64-musl/bin/opencode"},
		{"claude-code", "", Platform{Arch: "amd64", Libc: NoLibc}, "", "neither glibc nor musl"},
		{"opencode", "", Platform{Arch: "amd64", Libc: NoLibc}, "", "neither glibc nor musl"},
		{"codex", "", Platform{Arch: "riscv64", Libc: Glibc}, "", `architecture "riscv64"`},
		{"aider", "", Platform{Arch: "amd64", Libc: Glibc}, "", "only for claude-code, codex, opencode"},
	} {
		p, err := For(tt.agent, tt.version, tt.on)
		if tt.packages == "" {
			if err == nil || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("%s on %v: %v, want %q", tt.agent, tt.on, err, tt.path)
			}
			continue
		}
		if err != nil || list(p.Packages) != tt.packages || p.Paths[0] != tt.path {
			t.Errorf("%s %s on %v: %+v, %v", tt.agent, tt.version, tt.on, p, err)
		}
	}
}

// Each version that is used by default is compared with a checksum of our own, but for the
// platforms of opencode of which the registry at hand had none.
func TestDefaultVersionsArePinned(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for agent := range recipes {
		version, ok := DefaultVersion(agent)
		if !ok {
			t.Errorf("%s has no version", agent)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			for _, libc := range []Libc{Glibc, Musl} {
				for _, baseline := range []bool{false, true} {
					p, err := For(agent, version, Platform{Arch: arch, Libc: libc, Baseline: baseline})
					if err != nil {
						t.Fatal(err)
					}
					one := p.Packages[0]
					if one.Integrity == "" && (agent != "opencode" || libc == Glibc && arch == "amd64") {
						t.Errorf("%s has no pin", one)
					}
					if err := one.check(); err != nil {
						t.Error(err)
					}
					used[one.String()] = true
				}
			}
		}
	}
	for pinned := range pins {
		if !used[pinned] {
			t.Errorf("%s is pinned for nothing", pinned)
		}
	}
	if _, ok := DefaultVersion("aider"); ok {
		t.Error("an agent that cannot be had has a version")
	}
	if p, err := For("codex", "0.1.0", Here(Glibc)); err != nil || p.Packages[0].Integrity != "" {
		t.Errorf("another version has a pin: %+v, %v", p, err)
	}
}

func TestTheProgramIsFoundInItsLayer(t *testing.T) {
	t.Parallel()
	l := Layer{Dir: t.TempDir()}
	write := func(name string, mode os.FileMode) {
		path := filepath.Join(l.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	p := Program{Paths: []string{"new/agent", "old/agent"}, Packages: []Package{{Name: "a", Version: "1.0.0"}}}
	write("new/agent", 0o644)
	if _, err := p.Find(l); err == nil || !strings.Contains(err.Error(), "new/agent or old/agent in a@1.0.0") {
		t.Errorf("%v", err)
	}
	write("old/agent", 0o755)
	if got, err := p.Find(l); err != nil || got != "old/agent" {
		t.Errorf("%s, %v", got, err)
	}
	write("new/agent", 0o755)
	if got, err := p.Find(l); err != nil || got != "new/agent" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestLibcOfAnImage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arch  string
		there []string
		want  Libc
	}{
		"Debian":                  {"amd64", []string{"/lib64/ld-linux-x86-64.so.2"}, Glibc},
		"Debian on ARM":           {"arm64", []string{"/lib/ld-linux-aarch64.so.1"}, Glibc},
		"Debian with musl beside": {"amd64", []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"}, Glibc},
		"Alpine":                  {"amd64", []string{"/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1"}, Musl},
		"Alpine with a shim":      {"amd64", []string{"/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1", "/lib64/ld-linux-x86-64.so.2"}, Musl},
		"Alpine on ARM":           {"arm64", []string{"/lib/ld-musl-aarch64.so.1"}, Musl},
		"from scratch":            {"amd64", nil, NoLibc},
		"of another processor":    {"amd64", []string{"/lib/ld-linux-aarch64.so.1"}, NoLibc},
	} {
		got, err := LibcOf(tt.arch, func(path string) (bool, error) { return slices.Contains(tt.there, path), nil })
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	broken := errors.New("no such container")
	if _, err := LibcOf("amd64", func(string) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := LibcOf("mips", func(string) (bool, error) { return true, nil }); err == nil {
		t.Error("an architecture that nobody packs for")
	}
}

func TestIntegrity(t *testing.T) {
	t.Parallel()
	whole := integrity([]byte("x"))
	for text, want := range map[string]string{
		whole: whole, "sha1-AAAA " + whole + "?opt": whole, "  " + whole + "\n": whole,
		"": "", "sha512-": "", "sha512-AAAA": "", whole[:len(whole)-4]: "", whole[:len(whole)-2]: "", "sha256-" + whole[7:]: "", strings.ToUpper(whole): "",
	} {
		sum, err := parseIntegrity(text)
		if got := sum.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s, %v", text, cmp.Diff(want, got), err)
		}
	}
}
