package vet

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

const pySkip = `import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip(reason="not today"))
`

const pyPass = `import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    report = result.get_result()
    report.outcome, report.longrepr = "passed", None
`

// conftest puts a conftest.py wherever pytest looks for one.
func conftest(text string) func(Target) []Text {
	return func(t Target) (files []Text) {
		if !slices.Contains(runners(t.Task), "pytest") {
			return nil
		}
		folders := map[string]bool{".": true}
		for _, source := range t.Sources {
			folders[path.Dir(source.Name)] = true
		}
		for _, name := range slices.Concat(t.Task.FailToPass, t.Task.PassToPass, t.Tests) {
			if file, _, ok := strings.Cut(name, "::"); ok && path.Ext(file) == ".py" && !path.IsAbs(file) {
				folders[path.Dir(path.Clean(file))] = true
			}
		}
		for _, dir := range slices.Sorted(maps.Keys(folders)) {
			files = append(files, Text{path.Join(dir, "conftest.py"), []byte(text)})
		}
		return files
	}
}

// configuration edits what steers the runners that the judge starts.
func configuration(t Target) (files []Text) {
	names := runners(t.Task)
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(name string) bool { return slices.Contains(names, name) })
	}
	if has("pytest") {
		files = append(files, pytestConfiguration(t)...)
	}
	if has("jest", "mocha", "node", "tap") {
		files = append(files,
			Text{"jest.config.js", []byte("module.exports = { passWithNoTests: true, testMatch: ['**/no-such-test'] };\n")},
			Text{".mocharc.json", []byte(`{"grep": "no such test"}` + "\n")})
	}
	if text, ok := t.There("package.json"); ok {
		files = append(files, packageJSON(text)...)
	}
	if has("cargo") {
		files = append(files, Text{".cargo/config.toml", []byte("[target.'cfg(all())']\nrunner = \"true\"\n")})
	}
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		if _, ok := t.There(name); ok {
			files = append(files, Text{name, []byte(".PHONY: all test tests check\nall test tests check:\n\t@true\n")})
		}
	}
	return files
}

func pytestConfiguration(t Target) []Text {
	const plugin, options = "adversary_plugin", "addopts = -p adversary_plugin\npythonpath = .\n"
	files := []Text{
		{plugin + ".py", []byte(pyPass)},
		{"pytest.ini", []byte("[pytest]\n" + options)},
		{"tox.ini", []byte("[pytest]\n" + options)},
	}
	for _, f := range []struct{ name, section, options string }{
		{"setup.cfg", "[tool:pytest]", options},
		{"pyproject.toml", "[tool.pytest.ini_options]", "addopts = \"-p adversary_plugin\"\npythonpath = [\".\"]\n"},
	} {
		old, _ := t.There(f.name)
		if !bytes.Contains(old, []byte(f.section)) {
			files = append(files, Text{f.name, slices.Concat(old, []byte("\n"+f.section+"\n"+f.options))})
		}
	}
	return files
}

// packageJSON has every script that tests do nothing.
func packageJSON(text []byte) []Text {
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	scripts, _ := all["scripts"].(map[string]any)
	for name := range scripts {
		if strings.Contains(name, "test") {
			scripts[name] = "exit 0"
		}
	}
	if len(scripts) == 0 {
		return nil
	}
	edited, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil
	}
	return []Text{{"package.json", edited}}
}
