package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Extent is what a tree of Git unfolds to in a folder. A tree names others by their hashes, and
// each as often as it likes: a repository of 200 KB can unfold to a million files.
type Extent struct {
	Entries int64 // files and folders
	Names   int64 // bytes of their paths
	Bytes   int64 // bytes of the files
}

// ErrExtent says that a tree unfolds to more than it may.
var ErrExtent = errors.New("it unfolds to more")

const (
	maxDepth     = 500      // of folders in each other
	maxTreeBytes = 64 << 20 // of the trees of one depth
	maxFile      = 1 << 50  // larger ones count as that, so that no sum overflows
)

// Extent tells what a commit or a tree unfolds to, without unfolding it: each object is looked at
// once. Beyond most, where that is not zero, it fails with ErrExtent. Without sizes no file is
// looked at, as in a clone that has left the files out, and Bytes is zero.
func (g Git) Extent(ctx context.Context, name string, most Extent, sizes bool) (Extent, error) {
	out, err := g.Run(ctx, "rev-parse", "--verify", "--quiet", name+"^{tree}")
	if err != nil {
		return Extent{}, err
	}
	root := strings.TrimSpace(out)
	m := measure{git: g.Printing(maxTreeBytes), most: most, trees: map[string]*folder{}, blobs: map[string]int64{}}
	if err := m.read(ctx, root); err != nil {
		return Extent{}, err
	}
	if sizes {
		if err := m.sizes(ctx); err != nil {
			return Extent{}, err
		}
	}
	total, err := m.of(root)
	if err == nil {
		err = total.within(most)
	}
	return total, err
}

// within fails where one is more.
func (e Extent) within(most Extent) error {
	switch {
	case most.Entries > 0 && e.Entries > most.Entries:
		return fmt.Errorf("%w than %d files and folders", ErrExtent, most.Entries)
	case most.Names > 0 && e.Names > most.Names:
		return fmt.Errorf("%w than %s of names", ErrExtent, humanize.IBytes(uint64(most.Names))) //nolint:gosec // positive
	case most.Bytes > 0 && e.Bytes > most.Bytes:
		return fmt.Errorf("%w than %s of files", ErrExtent, humanize.IBytes(uint64(most.Bytes))) //nolint:gosec // positive
	}
	return nil
}

// measure is a tree that is being looked at.
type measure struct {
	git     Git
	most    Extent
	trees   map[string]*folder
	blobs   map[string]int64 // their sizes
	entries int64            // of all distinct trees
}

// folder is one distinct tree.
type folder struct {
	own     Extent // of its entries, without what is in folders
	files   []string
	folders []inner
	total   *Extent
}

// inner is a folder in a folder.
type inner struct {
	hash string
	name int64 // length
}

// read looks at all trees below one, depth by depth.
func (m *measure) read(ctx context.Context, root string) error {
	for depth, next := 0, []string{root}; len(next) > 0; depth++ {
		if depth > maxDepth {
			return fmt.Errorf("%w than %d folders in each other", ErrExtent, maxDepth)
		}
		found := map[string]bool{}
		var out bytes.Buffer
		err := m.git.Pipe(ctx, strings.NewReader(strings.Join(next, "\n")+"\n"), &out, "cat-file", "--batch")
		if errors.Is(err, ErrTooMuch) {
			return fmt.Errorf("%w than %s of folders", ErrExtent, humanize.IBytes(maxTreeBytes))
		}
		if err != nil {
			return err
		}
		for _, hash := range next {
			content, err := object(&out, hash)
			if err != nil {
				return err
			}
			f, err := m.parse(content, len(hash)/2)
			if err != nil {
				return fmt.Errorf("read tree %s: %w", hash, err)
			}
			m.trees[hash] = f
			for _, i := range f.folders {
				found[i.hash] = true
			}
		}
		maps.DeleteFunc(found, func(hash string, _ bool) bool { return m.trees[hash] != nil })
		next = slices.Sorted(maps.Keys(found))
	}
	return nil
}

// object takes the next object off what cat-file printed.
func object(out *bytes.Buffer, hash string) ([]byte, error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", hash, err)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != hash || fields[1] != "tree" {
		return nil, fmt.Errorf("read tree %s: it is %q", hash, strings.TrimSpace(line))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= out.Len() {
		return nil, fmt.Errorf("read tree %s: its size is %q", hash, fields[2])
	}
	return out.Next(size + 1)[:size], nil
}

// parse reads the entries of a tree: "MODE NAME", a zero byte, and the hash in binary, each.
func (m *measure) parse(content []byte, hash int) (*folder, error) {
	f := &folder{}
	for len(content) > 0 {
		head, rest, ok := bytes.Cut(content, []byte{0})
		mode, name, named := bytes.Cut(head, []byte(" "))
		if !ok || !named || len(rest) < hash {
			return nil, errors.New("it is broken")
		}
		if m.entries++; m.most.Entries > 0 && m.entries > m.most.Entries {
			return nil, Extent{Entries: m.entries}.within(m.most)
		}
		f.own.Entries++
		f.own.Names += int64(len(name))
		switch id := hex.EncodeToString(rest[:hash]); string(mode) {
		case "40000", "040000":
			f.folders = append(f.folders, inner{id, int64(len(name))})
		case "160000": // a commit of another repository
		default:
			f.files = append(f.files, id)
			m.blobs[id] = 0
		}
		content = rest[hash:]
	}
	return f, nil
}

// sizes asks how large the files are.
func (m *measure) sizes(ctx context.Context) error {
	hashes := slices.Sorted(maps.Keys(m.blobs))
	out, err := m.git.Feed(ctx, strings.NewReader(strings.Join(hashes, "\n")+"\n"), "cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		hash, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 {
			m.blobs[hash] = min(n, maxFile)
		}
	}
	return nil
}

// of sums a tree up; it stops where that is too much, long before a number overflows.
func (m *measure) of(hash string) (Extent, error) {
	f := m.trees[hash]
	if f.total != nil {
		return *f.total, nil
	}
	sum := f.own
	for _, file := range f.files {
		sum.Bytes += m.blobs[file]
	}
	for _, i := range f.folders {
		in, err := m.of(i.hash)
		if err != nil {
			return sum, err
		}
		sum.Entries += in.Entries
		sum.Names += in.Names + in.Entries*(i.name+1)
		sum.Bytes += in.Bytes
		if err := sum.within(m.most); err != nil {
			return sum, err
		}
	}
	f.total = &sum
	return sum, nil
}
