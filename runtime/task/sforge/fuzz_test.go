package sforge

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// No text, of either file, makes anything but tasks and complaints.
func FuzzParseTask(f *testing.F) {
	seed, err := os.ReadFile("testdata/t1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"judge": {"rescale": {"kind": "linear"}}, "work": []}`))
	bench, err := parseBenchmark([]byte("name: demo\nbase_images: {python: {official_image: 'python:3.11', extra_packages: []}}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _, err := parseTask(data, "t1", bench)
		if err == nil && (got.Name != "t1" || got.Work.Image+got.Work.Ref == "" || got.Judge.Timeout <= 0) {
			t.Errorf("accepted as %+v", got)
		}
	})
}

func FuzzParseBenchmark(f *testing.F) {
	f.Add([]byte("name: demo\nbase_images:\n  a: &x\n    official_image: i\n    extra_packages: [git]\n  b:\n    <<: *x\n    n: 1:30\n"))
	f.Add([]byte("name: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		bench, err := parseBenchmark(data)
		if err == nil && bench.name == "" {
			t.Error("accepted without a name")
		}
	})
}

func FuzzParseExperiment(f *testing.F) {
	f.Add([]byte("tasks: {a: {timeout: 60, extra_env: {A: 1}, internet: yes}}\ndefaults: {cpu_limit: 2}\nmodel: {model: x}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, _, err := parseExperiment(data)
		if err == nil && (len(e.Runs) == 0 || e.HCL("b") == "") {
			t.Error("accepted without a run")
		}
	})
}
