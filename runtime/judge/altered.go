package judge

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// maxLookedAt bounds how many hidden files are compared where there is no guest to do it.
const maxLookedAt = 200

// differs is what the guest's comparison begins with when it names a file.
const differs = "differs: "

// nowLaid notes that a hidden file, by its path in the container, is replaced by the judge
// itself: some tripwires are tests that are added to one.
func (g *grading) nowLaid(file, content string) {
	name, below := strings.CutPrefix(file, path.Clean(g.session.Task.Workdir)+"/")
	if _, hidden := g.profile.Sums[name]; !below || !hidden {
		return
	}
	g.laid(name, []byte(content))
}

// laid notes what a hidden file holds that is not what the image has.
func (g *grading) laid(name string, content []byte) {
	if _, compared := g.profile.Sums[name]; !compared {
		return
	}
	sum := sha256.New()
	sum.Write(content) // a hash takes everything
	if g.replaced == nil {
		g.replaced = map[string]string{}
	}
	g.replaced[name] = hex.EncodeToString(sum.Sum(nil))
}

// sums are the digests that the hidden files have to have after the run.
func (g *grading) sums() map[string]string {
	sums := maps.Clone(g.profile.Sums)
	maps.Copy(sums, g.replaced)
	return sums
}

// altered names a hidden file that is no longer what was laid, "" where all are. In stages
// nothing that was submitted runs beside them.
func (g *grading) altered(ctx context.Context) (string, error) {
	if g.session.Task.Judge.Staged() || len(g.profile.Sums) == 0 {
		return "", nil
	}
	var list strings.Builder
	sums := g.sums()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s %s\x00", sums[name], name)
	}
	said, err := g.guest(ctx, strings.NewReader(list.String()), "compare", g.session.Task.Workdir)
	switch {
	case err == nil:
		if name, ok := strings.CutPrefix(said, differs); ok {
			return name, nil
		}
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return g.lookedAt(ctx) // there is no guest, or the container has been stopped
}

// lookedAt compares hidden files one by one.
func (g *grading) lookedAt(ctx context.Context) (string, error) {
	sums := g.sums()
	for i, name := range slices.Sorted(maps.Keys(sums)) {
		if i == maxLookedAt {
			break
		}
		same, err := g.sameIn(ctx, name, sums[name])
		if err != nil && (ctx.Err() != nil || sandbox.Machinery(err)) {
			return "", fmt.Errorf("compare %s with the hidden files: %w", name, err)
		}
		if err != nil || !same {
			return name, nil
		}
	}
	return "", nil
}

// maxLooks is how often a file is read that cannot be: once it may be the engine's doing, but what is
// so each time is the submission's.
const maxLooks = 3

// sameIn is same, of several looks.
func (g *grading) sameIn(ctx context.Context, name, want string) (same bool, err error) {
	for look := range maxLooks {
		if same, err = g.same(ctx, name, want); err == nil || sandbox.Machinery(err) {
			return same, err
		}
		select {
		case <-time.After(time.Duration(look+1) * lookPause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return false, err
}

// lookPause is after which a file is read again that could not be.
const lookPause = 200 * time.Millisecond

func (g *grading) same(ctx context.Context, name, want string) (_ bool, err error) {
	stream, err := g.open(ctx, path.Join(g.session.Task.Workdir, name))
	if err != nil || stream == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	r := tar.NewReader(stream)
	h, err := r.Next()
	if err != nil || h.Typeflag != tar.TypeReg {
		return false, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == want, nil
}

// compared holds against a report that counts for something that a hidden file was altered.
func (g *grading) compared(ctx context.Context, r round.Report) (round.Report, error) {
	if !r.Valid || r.PassRate == 0 && r.Score == nil {
		return r, nil
	}
	name, err := g.altered(ctx)
	if err != nil || name == "" {
		return r, err
	}
	why := "the test run was tampered with: after it the hidden file " + name + " is not the one that the judge put there"
	if r.Problem != "" {
		why = r.Problem + "; " + why
	}
	r.Status, r.Tampered, r.Valid, r.PassRate, r.Score, r.Score100 = round.StatusTampered, true, false, 0, nil, nil
	r.Problem = round.Clip(why, 1000)
	return r, nil
}
