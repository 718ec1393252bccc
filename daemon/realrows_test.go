//go:build real

package daemon_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// row is a pull request as people who write SWE-bench's JSON Lines have it.
type row map[string]any

// row writes the list of tests in one of the two ways in which files have it. The commands
// are those that the language's own rows have: with the files of the tests, or without any.
func (p pull) row(t *testing.T, image string) row {
	c := toolchains()[p.Language]
	config := row{"base_image_name": image, "install": []string{c.version}, "log_parser": "parse_log_" + c.Parser}
	if len(p.Environment.Env) > 0 {
		config["env_vars"] = p.Environment.Env
	}
	switch p.Language {
	case "python": // the files of the tests and the parser follow from the rest
		config["test_cmd"] = c.command
		delete(config, "log_parser")
	case "rust": // so does the command
	default:
		config["test_cmd"] = []string{p.testCommand(c)}
	}
	r := row{
		"instance_id": p.ID, "repo": p.Repo, "base_commit": p.Base, "created_at": p.Created, "version": "1",
		"patch": p.sourcePatch(t), "test_patch": p.testPatch(t), "hints_text": "", "environment_setup_commit": p.Base,
		"problem_statement": p.git(t, "show", "--no-patch", "--format=%B", p.Merge),
		"FAIL_TO_PASS":      p.FailToPass, "PASS_TO_PASS": p.PassToPass, "install_config": config,
	}
	if p.Language == "go" {
		r["FAIL_TO_PASS"], r["PASS_TO_PASS"] = listAsText(t, p.FailToPass), listAsText(t, p.PassToPass)
	}
	return r
}

func listAsText(t *testing.T, names []string) string {
	t.Helper()
	text, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testPatch is what the pull request does to its tests.
func (p pull) testPatch(t *testing.T) string {
	args := []string{"diff", "--full-index", "--binary", p.Base, p.Merge, "--"}
	for _, file := range p.TestFiles {
		args = append(args, ":(literal)"+file)
	}
	return p.git(t, args...)
}

// writeRows writes a dataset of one file.
func writeRows(t *testing.T, dir string, rows ...row) {
	t.Helper()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "instances.jsonl"), text.String())
}

// rowsOf are the rows of all pull requests, in images that hold what their tests need.
func (w *fixture) rowsOf(pulls []pull) []row {
	w.Helper()
	images := map[string]string{} // by repository: an install has no network here
	var rows []row
	for _, p := range pulls {
		if images[p.Repo] == "" {
			images[p.Repo] = w.imageWithModules(p)
		}
		rows = append(rows, p.row(w.T, images[p.Repo]))
	}
	return rows
}

// imageWithModules is the language's base image with the modules of a repository where its
// tools look for them.
func (w *fixture) imageWithModules(p pull) string {
	w.Helper()
	c := toolchains()[p.Language]
	if c.cache == nil {
		return c.Image
	}
	dir := w.TempDir()
	c.cache(w.T, p, dir)
	label := map[string]string{container.LabelOwner: w.owner}
	box, err := w.engine.Start(w.Context(), container.Workload{
		Name: "assayd-real-" + containertest.Unique(), Image: c.Image, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone, Labels: label,
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := w.engine.CopyTo(w.Context(), box.ID, "/", folderTar(w.T, dir)); err != nil {
		w.Fatal(err)
	}
	name := "assayd-real/" + strings.ToLower(strings.ReplaceAll(p.Repo, "/", "-")) + ":" + strings.ToLower(containertest.Unique())
	if _, err := w.engine.Commit(w.Context(), box.ID, name, container.ImageConfig{}); err != nil {
		w.Fatal(err)
	}
	if err := w.engine.Remove(w.Context(), box.ID); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := w.engine.RemoveImage(context.WithoutCancel(w.Context()), name); err != nil {
			w.Error(err)
		}
	})
	return name
}

// folderTar is a folder as an archive.
func folderTar(t *testing.T, dir string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	if err := tw.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// cacheModules fills Go's cache of modules as the images have it.
func cacheModules(t *testing.T, p pull, dir string) {
	from := p.checkedOut(t)
	cmd := []string{"GOMODCACHE=" + filepath.Join(dir, "go/pkg/mod"), "GOFLAGS=-modcacherw", "GOWORK=off", "go", "mod", "download", "all"}
	output(t, from, "env", cmd...)
}

// cachePackages puts the packages where Node.js looks for those of any folder.
func cachePackages(t *testing.T, p pull, dir string) { installPackages(t, p, dir) }

// forge writes settings by which clones are taken from a folder, where they are as on a
// forge.
func (w *fixture) forge(more string) (settings string) {
	w.Helper()
	settings = filepath.Join(w.TempDir(), "assayd.hcl")
	write(w.T, settings, fmt.Sprintf("build {\n  mirrors = { git = %q }\n%s}\n", w.mirror(), more))
	return settings
}

// mirror is the address of a folder in which the clones are as on a forge.
func (w *fixture) mirror() string {
	w.Helper()
	dir := w.TempDir()
	clones, err := filepath.Glob(filepath.Join(os.Getenv("ASSAYD_REPOS"), "*+*", "repo"))
	if err != nil || len(clones) == 0 {
		w.Fatalf("ASSAYD_REPOS must name the folder with the clones (owner+name/repo): %v", err)
	}
	for _, clone := range clones {
		owner, name, _ := strings.Cut(filepath.Base(filepath.Dir(clone)), "+")
		if err := os.MkdirAll(filepath.Join(dir, owner), 0o755); err != nil {
			w.Fatal(err)
		}
		if err := os.Symlink(clone, filepath.Join(dir, owner, name)); err != nil {
			w.Fatal(err)
		}
	}
	return "file://" + dir
}
