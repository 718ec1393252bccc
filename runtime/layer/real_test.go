package layer

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The agents as their makers publish them, from the registry that npm would use here. They
// are kept in the user's cache, so that only the first run downloads them.
func TestTheRealAgentsAreDownloadedAndRun(t *testing.T) {
	t.Parallel()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal("the agents need a place that outlives the test: ", err)
	}
	s := open(t, filepath.Join(cache, "assayd-test", "layers"), Options{Registry: os.Getenv("npm_config_registry")})
	libc, err := LibcOf(runtime.GOARCH, func(path string) (bool, error) {
		_, err := os.Stat(path)
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for agent := range recipes {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			program, err := For(agent, "", Here(libc))
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Packages(t.Context(), program.Packages)
			if err != nil {
				t.Fatalf("this test needs an npm registry (npm_config_registry may name it): %v", err)
			}
			path, err := program.Find(l)
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			run := exec.CommandContext(t.Context(), filepath.Join(l.Dir, path), "--version")
			run.Env, run.Dir = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, home
			out, err := run.Output()
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				t.Fatalf("%s --version: %v\n%s", path, err, failed.Stderr)
			}
			version, _ := DefaultVersion(agent)
			if err != nil || !strings.Contains(string(out), version) {
				t.Errorf("%s --version prints %q, %v, want %s", path, out, err, version)
			}
			there := func(folder string) bool {
				info, err := os.Stat(filepath.Join(l.Dir, folder))
				return err == nil && info.IsDir()
			}
			if len(program.Folders) > 0 && !slices.ContainsFunc(program.Folders, there) {
				t.Errorf("there is none of %q", program.Folders)
			}
		})
	}
}
