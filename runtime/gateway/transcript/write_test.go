package transcript

import (
	"os"
	"path/filepath"
	"testing"
)

// A trajectory is whole or not there, and nothing else stays in its folder.
func TestATrajectoryWithoutAStepLeavesNoFile(t *testing.T) {
	for name, text := range map[string]string{"no transcript": "", "an empty one": "\n", "one that is no transcript": "{\"n\":1}\n"} {
		dir := t.TempDir()
		from := filepath.Join(dir, "transcript")
		if text != "" {
			if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := WriteTrajectory(filepath.Join(dir, "trajectory.json"), from, Info{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Name() != "transcript" {
				t.Errorf("%s: %s is there", name, f.Name())
			}
		}
	}
}
