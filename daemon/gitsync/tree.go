package gitsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// A repository may name another as its submodule, and that one a third.
const maxNested = 10

// mayUnfold bounds the folder of the specs, with all submodules.
var mayUnfold = git.Extent{Entries: 100_000, Names: 32 << 20, Bytes: 1 << 30}

// plant makes the tree that the folder is to be: the commit's, below path, with the files of
// its submodules in their places and without result files, whose names are the daemon's.
// Afterwards all of it is here, so that a checkout needs no remote.
func (s *Syncer) plant(ctx context.Context, commit string) (tree string, err error) {
	index := filepath.Join(s.dir, workPrefix+"index")
	if err := os.RemoveAll(index); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(index)) }()
	p := &planting{s: s, git: s.git.With("GIT_INDEX_FILE=" + index)}
	if err := p.graft(ctx, s.remote, commit, "", s.o.Git.Path, 0); err != nil {
		return "", err
	}
	files, err := p.entries(ctx, "")
	if err != nil {
		return "", err
	}
	if err := p.drop(ctx, ownResults(files)); err != nil {
		return "", err
	}
	out, err := p.git.Run(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return "", err
	}
	tree = strings.TrimSpace(out)
	if err := s.bringFiles(ctx, tree); err != nil {
		return "", fmt.Errorf("fetch its files: %w", err)
	}
	_, err = s.git.Extent(ctx, tree, mayUnfold, true)
	return tree, tooLarge(err)
}

// tooLarge says what to do about a tree that is.
func tooLarge(err error) error {
	if errors.Is(err, git.ErrExtent) {
		return fmt.Errorf("%w; to follow a folder of the repository alone, name it in git { path = \"…\" }", err)
	}
	return err
}

// planting is a tree that is being put together in an index of its own.
type planting struct {
	s       *Syncer
	git     git.Git
	planted int64 // files and folders so far
}

// entry is one path of an index.
type entry struct{ mode, hash, path string }

// graft puts the folder sub of a commit at a place, and the submodules in it.
func (p *planting) graft(ctx context.Context, from remote, commit, at, sub string, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("submodules are nested deeper than %d", maxNested)
	}
	sub = strings.Trim(path.Clean("/"+sub), "/")
	if sub != "" && at == "" {
		at = sub
	}
	tree, err := p.git.Run(ctx, "rev-parse", "--verify", "--quiet", commit+":"+sub)
	if err == nil {
		var kind string
		if kind, err = p.git.Run(ctx, "cat-file", "-t", strings.TrimSpace(tree)); err == nil && strings.TrimSpace(kind) != "tree" {
			err = errors.New("it is a file")
		}
	}
	if err != nil {
		return fmt.Errorf("it has no folder %q", sub)
	}
	extent, err := p.git.Extent(ctx, strings.TrimSpace(tree), mayUnfold, false) // its files are not here yet
	if p.planted += extent.Entries; err == nil && p.planted > mayUnfold.Entries {
		err = fmt.Errorf("%w than %d files and folders, with its submodules", git.ErrExtent, mayUnfold.Entries)
	}
	if err != nil {
		return tooLarge(err)
	}
	args := []string{"read-tree"}
	if at != "" {
		args = append(args, "--prefix="+at+"/")
	}
	if _, err := p.git.Run(ctx, append(args, strings.TrimSpace(tree))...); err != nil {
		return err
	}
	files, err := p.entries(ctx, at)
	if err != nil {
		return err
	}
	return p.submodules(ctx, from, commit, at, sub, files, depth)
}

// submodules puts the recorded commits of submodules in their places.
func (p *planting) submodules(ctx context.Context, from remote, commit, at, sub string, files []entry, depth int) error {
	files = slices.DeleteFunc(slices.Clone(files), func(e entry) bool { return e.mode != "160000" })
	if len(files) == 0 {
		return nil
	}
	addresses, err := p.addresses(ctx, commit)
	if err != nil {
		return err
	}
	for _, link := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(link.path, at), "/")
		raw, ok := addresses[path.Join(sub, name)]
		if !ok {
			return fmt.Errorf("submodule %s: .gitmodules does not say where it is", link.path)
		}
		to, err := from.beside(raw)
		if err != nil {
			return fmt.Errorf("submodule %s: %w", link.path, err)
		}
		if !p.s.has(ctx, link.hash) {
			if err := p.s.bringCommit(ctx, to.url, link.hash, refSub); err != nil {
				return fmt.Errorf("submodule %s: %w", link.path, err)
			}
		}
		if err := p.drop(ctx, []string{link.path}); err != nil {
			return err
		}
		if err := p.graft(ctx, to, link.hash, link.path, "", depth+1); err != nil {
			return fmt.Errorf("submodule %s: %w", link.path, err)
		}
	}
	return nil
}

// addresses are those of a commit's submodules, by path.
func (p *planting) addresses(ctx context.Context, commit string) (map[string]string, error) {
	out, err := p.s.ask(ctx, remoteTime, nil, "config", "-z", "--blob", commit+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	paths, urls := map[string]string{}, map[string]string{}
	for item := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(item, "\n")
		if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[name] = path.Clean(value)
		} else if name, ok := strings.CutSuffix(key, ".url"); ok {
			urls[name] = value
		}
	}
	at := map[string]string{}
	for name, where := range paths {
		if url, ok := urls[name]; ok {
			at[where] = url
		}
	}
	return at, nil
}

// entries lists what is in the index below a path.
func (p *planting) entries(ctx context.Context, below string) ([]entry, error) {
	args := []string{"ls-files", "--stage", "-z"}
	if below != "" {
		args = append(args, "--", ":(literal,top)"+below)
	}
	out, err := p.git.Run(ctx, args...)
	if err != nil {
		return nil, err
	}
	var all []entry
	for line := range strings.SplitSeq(out, "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(head); ok && len(fields) == 3 {
			all = append(all, entry{fields[0], fields[1], name})
		}
	}
	return all, nil
}

// drop takes paths out of the index.
func (p *planting) drop(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := p.git.Feed(ctx, strings.NewReader(strings.Join(paths, "\x00")+"\x00"), "update-index", "-z", "--force-remove", "--stdin")
	return err
}

// ownResults are the paths that result files of the specs among the files would have.
func ownResults(files []entry) (paths []string) {
	stems := map[string]bool{}
	for _, f := range files {
		if stem, ok := strings.CutSuffix(f.path, ".hcl"); ok {
			stems[stem] = true
		}
	}
	for _, f := range files {
		if isResult(f.path, stems) {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// isResult reports whether a file has the name of a result file of one of these specs.
func isResult(name string, stems map[string]bool) bool {
	rest, ok := strings.CutSuffix(name, ".jsonl")
	if !ok {
		return false
	}
	dir, base := path.Split(rest)
	for i := range base {
		if base[i] != '.' || !stems[dir+base[:i]] {
			continue
		}
		kind, _, _ := strings.Cut(base[i+1:], ".")
		if slices.Contains([]string{"run", "mining", "benchmark", "status"}, kind) {
			return true
		}
	}
	return false
}

// bringFiles fetches the files of a tree that were left out, all at once.
func (s *Syncer) bringFiles(ctx context.Context, tree string) error {
	missing, err := s.missing(ctx, tree)
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = s.ask(ctx, remoteTime, strings.NewReader(strings.Join(missing, "\n")+"\n"), "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet",
		"--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--filter=blob:none", "--stdin", "origin")
	return err
}

// missing are the objects of a tree that are not here.
func (s *Syncer) missing(ctx context.Context, tree string) ([]string, error) {
	out, err := s.git.Run(ctx, "rev-list", "--objects", "--no-object-names", "--missing=print", tree)
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for line := range strings.Lines(out) {
		if hash, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			left[hash] = true
		}
	}
	return slices.Sorted(maps.Keys(left)), nil
}
