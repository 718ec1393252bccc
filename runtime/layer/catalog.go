package layer

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// Platform is what a program is to run on.
type Platform struct {
	Arch     string // as Go calls it: amd64 or arm64
	Libc     Libc   // of the image
	Baseline bool   // an amd64 processor without AVX2
}

// Here is the platform of an image with this C library on this machine.
func Here(libc Libc) Platform {
	return Platform{Arch: runtime.GOARCH, Libc: libc, Baseline: runtime.GOARCH == "amd64" && !cpu.X86.HasAVX2}
}

// Program is an agent's program as packages hold it.
type Program struct {
	Packages []Package
	Paths    []string // where the program may be in their layer, in this order
	Folders  []string // of the layer, with programs that this one calls; perhaps not there
}

// Find returns the program's path in its layer, relative to the layer's folder.
func (p Program) Find(l Layer) (string, error) {
	for _, name := range p.Paths {
		info, err := os.Stat(filepath.Join(l.Dir, name))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no program at %s in %s: this version is laid out in another way", strings.Join(p.Paths, " or "), list(p.Packages))
}

// recipe is how an agent is packed.
type recipe struct {
	version string // unless another one is asked for
	static  bool   // it needs no C library
	program func(version, arch string, p Platform) Program
}

// recipes are the agents that can be had as layers.
var recipes = map[string]recipe{
	"claude-code": {version: "2.1.329", program: claudeCode},
	"codex":       {version: "0.169.0", static: true, program: codex},
	"opencode":    {version: "1.18.33", program: opencode},
}

// pins are the checksums of the versions that are used by default, as the registry gave them
// when they were chosen. A package without one is compared with what the registry says.
var pins = map[string]string{
	"@anthropic-ai/claude-code-linux-x64@2.1.329":        "sha512-+n4lu1ubYAp02Y0X/MAUnxw9yY6SHHZ77F+IoW+V0wVoFuiI9opdH6gofjf14gXJCEYMTNpks7Gn1i8XZTKAWA==",
	"@anthropic-ai/claude-code-linux-x64-musl@2.1.329":   "sha512-EouW7B/aG3GOQBmzN9MxHV9uTOE2r6E+VIlFBrBgIEBuBBF4qH1GTvg5/CVf53gGp4DgVf1CYdBHjS+2NeDP4A==",
	"@anthropic-ai/claude-code-linux-arm64@2.1.329":      "sha512-IiG5umFToSCVWqB1lEsxxwIxKgxPXyZ3DRU915v8J4Bz5Q3JpslM0ew1m5yaT+lFXBPvYxmsEgi0XI68XHND0A==",
	"@anthropic-ai/claude-code-linux-arm64-musl@2.1.329": "sha512-uVWrRp60cqvikJ13Rtmlkd8WuJtJEWAuGJzenJ0or0I7by05kRWopFdDdpWYQi8dRIJ6+W9T9w+PA4B+EjfCXQ==",
	"@openai/codex@0.169.0-linux-x64":                    "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
	"@openai/codex@0.169.0-linux-arm64":                  "sha512-NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg==",
	"opencode-linux-x64@1.18.33":                         "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
	"opencode-linux-x64-baseline@1.18.33":                "sha512-1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FCnW5LDa+zCA==",
}

// DefaultVersion is the version of an agent that is used when none is asked for; false for an
// agent that cannot be had as a layer.
func DefaultVersion(agent string) (string, bool) {
	r, ok := recipes[agent]
	return r.version, ok
}

// Executable is what an agent's program is called where it is installed by other means.
func Executable(agent string) string {
	if agent == "claude-code" {
		return "claude"
	}
	return agent
}

// For says which packages hold an agent's program for a platform. version "" is the default
// one.
func For(agent, version string, p Platform) (Program, error) {
	r, ok := recipes[agent]
	if !ok {
		return Program{}, fmt.Errorf("there is no layer for the agent %q, only for %s", agent, strings.Join(slices.Sorted(maps.Keys(recipes)), ", "))
	}
	if version == "" {
		version = r.version
	}
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[p.Arch]
	if !ok {
		return Program{}, fmt.Errorf("there is no layer for %s on the architecture %q: install the program by steps of your own (agent %q { install = [...] }, without a command)", agent, p.Arch, agent)
	}
	if p.Libc == NoLibc && !r.static {
		return Program{}, fmt.Errorf("%s needs a C library, and the image has neither glibc nor musl: base the image on one that has, install the program by steps of your own (agent %q { install = [...] }, without a command), or use an agent whose program is static, such as codex", agent, agent)
	}
	program := r.program(version, arch, p)
	for i := range program.Packages {
		one := &program.Packages[i]
		one.Integrity = pins[one.String()]
	}
	return program, nil
}

// claudeCode is one linked program in a package of its own for each platform.
func claudeCode(version, arch string, p Platform) Program {
	name := "@anthropic-ai/claude-code-linux-" + arch + suffix(p.Libc == Musl, "-musl")
	return Program{Packages: []Package{{Name: name, Version: version}}, Paths: []string{path.Join(name, "claude")}}
}

// codex is a static program. Its platforms are versions of one package, as "0.169.0-linux-x64".
func codex(version, arch string, _ Platform) Program {
	const name = "@openai/codex"
	triple := map[string]string{"x64": "x86_64", "arm64": "aarch64"}[arch] + "-unknown-linux-musl"
	vendor := path.Join(name, "vendor", triple)
	return Program{
		Packages: []Package{{Name: name, Version: version + "-linux-" + arch}},
		Paths:    []string{path.Join(vendor, "bin/codex"), path.Join(vendor, "codex/codex")}, // the second in older ones
		Folders:  []string{path.Join(vendor, "codex-path"), path.Join(vendor, "path")},       // the same
	}
}

// opencode is one linked program in a package of its own for each platform.
func opencode(version, arch string, p Platform) Program {
	name := "opencode-linux-" + arch + suffix(p.Baseline && arch == "x64", "-baseline") + suffix(p.Libc == Musl, "-musl")
	return Program{Packages: []Package{{Name: name, Version: version}}, Paths: []string{path.Join(name, "bin/opencode")}}
}

func suffix(when bool, text string) string {
	if when {
		return text
	}
	return ""
}
