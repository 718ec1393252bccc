package vet

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// python are the runners of Python, script those of JavaScript.
var (
	python = []string{"django", "pytest", "unittest"}
	script = []string{"jest", "mocha", "node", "tap"}
)

// starts reports whether the judge starts one of these runners.
func (t Target) starts(some []string) bool {
	return slices.ContainsFunc(runners(t.Task), func(name string) bool { return slices.Contains(some, name) })
}

// startupHooks are files that an interpreter loads before it begins.
func startupHooks(t Target) (files []Text) {
	if t.starts(python) {
		hook := []byte(pyRunner)
		files = append(files, Text{"sitecustomize.py", hook}, Text{"sitecustomize/__init__.py", hook}, Text{"usercustomize.py", hook},
			Text{"adversary_hook.py", hook}, Text{"adversary.pth", []byte("import adversary_hook\n")})
	}
	if t.starts(script) {
		files = append(files, Text{"zz-adversary.cjs", []byte(jsRunner)}, Text{".npmrc", []byte("node-options=--require ./zz-adversary.cjs\n")})
	}
	if slices.Contains(formats(t.Task), "junit") && len(files) == 0 {
		files = append(files, Text{"junit-platform.properties", []byte("junit.jupiter.execution.dryRun.enabled=true\njunit.platform.execution.dryRun.enabled=true\n")})
	}
	return files
}

// derivedFiles are in place of what tools make: installed copies, and reports.
func derivedFiles(t Target) (files []Text) {
	if t.starts(python) {
		files = append(files, Text{"adversary_plugin.py", []byte(pyPass + pyRunner)},
			Text{"adversary.egg-info/PKG-INFO", []byte("Metadata-Version: 2.1\nName: adversary\nVersion: 1\n")},
			Text{"adversary.egg-info/entry_points.txt", []byte("[pytest11]\nadversary = adversary_plugin\n")})
	}
	if t.starts(script) {
		for _, name := range []string{"jest", "mocha", "tap"} {
			files = append(files, Text{"node_modules/.bin/" + name, []byte("#!/bin/sh\nexit 0\n")},
				Text{"node_modules/" + name + "/index.js", []byte(jsRunner)})
		}
	}
	for _, format := range formats(t.Task) {
		_, reports := marks(format, t)
		for _, f := range reports {
			if !path.IsAbs(f.Name) {
				files = append(files, f)
			}
		}
	}
	return files
}

// hiddenPackages take tests out of what a runner looks at.
func hiddenPackages(t Target) (files []Text) {
	if t.starts([]string{"gotest"}) {
		for _, source := range t.Sources[:min(len(t.Sources), maxSources)] {
			dir := path.Dir(source.Name)
			if name := path.Join(dir, "go.mod"); dir != "." && path.Ext(source.Name) == ".go" && !slices.ContainsFunc(files, func(f Text) bool { return f.Name == name }) {
				files = append(files, Text{name, []byte("module adversary\n\ngo 1.21\n")})
			}
		}
	}
	if manifest, ok := t.There("Cargo.toml"); ok && t.starts([]string{"cargo"}) && !bytes.Contains(manifest, []byte("[lib]")) {
		files = append(files, Text{"Cargo.toml", slices.Concat(manifest, []byte("\n[lib]\ntest = false\ndoctest = false\n"))})
	}
	return files
}

// testHelpers are what hidden tests load from their own folders.
func testHelpers(t Target) (files []Text) {
	if t.starts(python) {
		for _, name := range slices.Concat(t.Task.FailToPass, t.Task.PassToPass, t.Tests) {
			file, _, ok := strings.Cut(name, "::")
			helper := path.Join(path.Dir(file), "__init__.py")
			if ok && path.Ext(file) == ".py" && !path.IsAbs(file) && !slices.ContainsFunc(files, func(f Text) bool { return f.Name == helper }) {
				files = append(files, Text{helper, []byte(pyRunner)})
			}
		}
	}
	if t.starts([]string{"gotest"}) {
		files = append(files, added(t, func(_ language, source Text) []Text {
			if path.Ext(source.Name) != ".go" {
				return nil
			}
			pkg := goName(source)
			return []Text{{path.Join(path.Dir(source.Name), "zz_adversary_test.go"), []byte("package " + pkg + "\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n")}}
		})...)
	}
	return files
}
