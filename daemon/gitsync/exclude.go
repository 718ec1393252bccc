package gitsync

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// resultNames are the names of result files, as Git's ignore files write them.
var resultNames = []string{
	"*.run.*.jsonl", "*.mining.*.jsonl", "*.benchmark.*.jsonl", "*.status.jsonl", "*.status.*.jsonl",
	"*.run.*.summary.json", "*.run.*.report.json",
}

// Exclude keeps result files out of what Git reports of the user's own checkouts: it adds
// their names to the local .git/info/exclude of each repository that one of the folders is
// in, once. What cannot be done is logged and changes nothing.
func Exclude(folders []string, log *slog.Logger) {
	for _, folder := range folders {
		if err := exclude(folder); err != nil {
			log.Warn("result files cannot be excluded from the Git checkout", "folder", folder, "error", err)
		}
	}
}

func exclude(folder string) error {
	dir, err := repositoryOf(folder)
	if dir == "" || err != nil {
		return err
	}
	name := filepath.Join(dir, "info", "exclude")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	var add strings.Builder
	if len(text) > 0 && text[len(text)-1] != '\n' {
		add.WriteByte('\n')
	}
	add.WriteString("# result files of assayd\n")
	missing := 0
	for _, pattern := range resultNames {
		if !slices.Contains(have, pattern) {
			add.WriteString(pattern + "\n")
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(add.String())
	return errors.Join(err, f.Close())
}

// repositoryOf is the folder in which Git keeps what all work trees share of the repository
// that a folder is in; "" where it is in none.
func repositoryOf(folder string) (string, error) {
	real, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir():
			return shared(dotGit)
		case err == nil && info.Mode().IsRegular():
			dir, err := pointedAt(dotGit, "gitdir: ")
			if err != nil {
				return "", err
			}
			return shared(dir)
		}
		if at == filepath.Dir(at) {
			return "", nil
		}
	}
}

// shared is the common folder of a linked work tree's, or the folder itself.
func shared(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return "", nil //nolint:nilerr // a folder that is only called .git
	}
	common, err := pointedAt(filepath.Join(dir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	return common, err
}

// pointedAt reads a file that holds a path, relative to itself.
func pointedAt(file, prefix string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !ok || to == "" {
		return "", fmt.Errorf("%s names no folder", file)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return to, nil
}
