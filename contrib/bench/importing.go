package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// instances are how many are imported.
const instances = 2000

// importing measures how long a spec takes that imports many instances, against the decoding
// of their file.
func importing(ctx context.Context, o options, _ *docker.Engine) (_ []result.Result, err error) {
	dir, err := os.MkdirTemp("", "import")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rows := manyRows()
	spec := "benchmark \"many\" {\n  import \"swebench\" {\n    path = \"rows.jsonl\"\n  }\n}\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "rows.jsonl"), rows, 0o644), os.WriteFile(filepath.Join(dir, "many.hcl"), []byte(spec), 0o644)); err != nil {
		return nil, err
	}
	m := result.Samples{}
	for range 5 {
		took, err := client.Timed(func() error {
			out, err := exec.CommandContext(ctx, o.program, "validate", filepath.Join(dir, "many.hcl")).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("assayd validate: %w\n%s", err, out[:min(len(out), 2000)])
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		alone, err := client.Timed(func() error { return decoded(rows) })
		if err != nil {
			return nil, err
		}
		m.Add(map[string]float64{"import": took, "decode": alone})
	}
	what := fmt.Sprintf("a spec that imports %d instances (%d MB of JSON Lines) is checked", instances, len(rows)/1e6)
	return []result.Result{result.Compare("ms", m["import"], m["decode"]).Called("import", what, "the file is decoded by encoding/json alone")}, nil
}

// manyRows are instances of the usual size.
func manyRows() []byte {
	var b bytes.Buffer
	var names []string
	for n := range 60 {
		names = append(names, fmt.Sprintf("tests/test_some_module.py::TestSomething::test_number_%d", n))
	}
	patch := func(file string) string {
		return "diff --git a/" + file + " b/" + file + "\n--- a/" + file + "\n+++ b/" + file + "\n@@ -1,0 +1,120 @@\n" + strings.Repeat("+    assert something.that(is_long_enough) == 42\n", 120)
	}
	for n := range instances {
		b.Write(jsonLine(map[string]any{
			"instance_id": fmt.Sprintf("acme__calc-%d", n), "repo": "acme/calc", "base_commit": fmt.Sprintf("%040x", n+1), "version": "1.0",
			"patch": patch("calc/some.py"), "test_patch": patch("tests/test_some_module.py"), "problem_statement": strings.Repeat("It does not do what it says. ", 60),
			"FAIL_TO_PASS": names[:3], "PASS_TO_PASS": names[3:],
			"install_config": map[string]any{"base_image_name": "assayd-base/python:1", "install": "true", "test_cmd": "pytest -rA"},
		}))
	}
	return b.Bytes()
}

func jsonLine(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and lists of them always encode
	}
	return append(line, '\n')
}

// decoded reads rows as they are.
func decoded(rows []byte) error {
	for line := range bytes.Lines(rows) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
	}
	return nil
}
