package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// maxMix bounds the hidden files of a mix: what is kept of them all, and room for headers.
const maxMix = maxHiddenAll + 4<<20

// Mixed has the archive of a submission judged with other content in some hidden files,
// once for each key: a repeated call returns what the first one made. All else is as it was.
// The files must be among those of HiddenCode. The round waits behind the rounds of other
// trials; Wait waits for its verdict. No agent ever sees it.
func (j *Judge) Mixed(ctx context.Context, trial string, of Submission, key string, files map[string][]byte) (Submission, error) {
	mix, err := j.KeepMix(files)
	if err != nil {
		return Submission{}, fmt.Errorf("judge round %s of trial %s by a mix: %w", of.Round, trial, err)
	}
	return j.again(ctx, trial, of, offer{kind: KindMixed, key: key}, mix)
}

// MixedKey is the idempotency key of the n-th mixed run of a round.
func MixedKey(round string, n int) string { return fmt.Sprintf("mixed/%s/%d", round, n) }

// again has the archive of a submission judged once more by another kind of round.
func (j *Judge) again(ctx context.Context, trial string, of Submission, o offer, mix string) (Submission, error) {
	s, err := j.admit(trial, o.kind)
	if err != nil {
		return Submission{}, err
	}
	o.id, o.now = newID(), s.Line.Now()
	var repeated *Submission
	sub, err := j.opts.Ledger.Reserve(ctx, trial, func(past []Submission) (Submission, error) {
		next, old, err := decide(s.Session, o, past)
		if old != nil {
			repeated = old
			return Submission{}, errUnchanged
		}
		// Nothing has to arrive any more: it is accepted as it is reserved.
		next.State, next.AcceptedAt = StateQueued, o.now
		next.Archive, next.Bytes, next.Dropped, next.Mix = of.Archive, of.Bytes, of.Dropped, mix
		return next, err
	})
	if errors.Is(err, errUnchanged) {
		return *repeated, nil
	}
	if err != nil {
		return Submission{}, fmt.Errorf("reserve a round of kind %s of trial %s: %w", o.kind, trial, err)
	}
	j.queue.takeFor(trial, sub.Kind, true)
	j.queue.enqueue(trial, sub.ID, sub.Kind)
	return sub, nil
}

// HiddenCode returns the hidden source files of the judge image, by their paths below
// workdir: those that are laid again in each judging, and that a mix may change. The trial's
// session must be open. A judge in stages, or one without a parser, has none.
func (j *Judge) HiddenCode(ctx context.Context, trial string) (map[string][]byte, error) {
	s := j.session(trial)
	if s == nil {
		return nil, fmt.Errorf("read the hidden files of trial %s: the judge does not know it", trial)
	}
	if s.Task.Judge.Staged() || !s.known {
		return nil, nil
	}
	p, err := j.profile(ctx, s)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name := range p.Heads {
		files[name] = p.Content[name]
	}
	return files, nil
}

// KeepMix stores hidden files as a blob for SubmitRequest.Mix and returns its digest.
func (j *Judge) KeepMix(files map[string][]byte) (digest string, err error) {
	blob, err := j.opts.Blobs.Create()
	if err != nil {
		return "", fmt.Errorf("store a mix of tests: %w", err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	w := tar.NewWriter(blob)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return "", fmt.Errorf("store %s of a mix of tests: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("store a mix of tests: %w", err)
	}
	if digest, _, err = blob.Commit(); err != nil {
		return "", fmt.Errorf("store a mix of tests: %w", err)
	}
	return digest, nil
}

// readMix reads what the submission has in place of hidden files. What it names must be there.
func (g *grading) readMix() (err error) {
	if g.sub.Mix == "" {
		return nil
	}
	blob, err := g.judge.opts.Blobs.Open(g.sub.Mix)
	if err != nil {
		return &sourceError{fmt.Errorf("open the mix of tests %s: %w", g.sub.Mix, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	g.mix = map[string][]byte{}
	err = eachEntry(tar.NewReader(io.LimitReader(blob, maxMix)), func(h *tar.Header, body io.Reader) error {
		if _, ok := g.profile.Heads[h.Name]; !ok {
			return fmt.Errorf("%s is no hidden file of the judge image", h.Name)
		}
		content, err := io.ReadAll(body)
		g.mix[h.Name] = content
		return err
	})
	if err != nil {
		return &sourceError{fmt.Errorf("read the mix of tests %s: %w", g.sub.Mix, err)}
	}
	for name, content := range g.mix {
		g.laid(name, content)
	}
	return nil
}

// content is what a small hidden file holds in this container; nil = it is not known.
func (g *grading) content(name string) []byte {
	if content, ok := g.mix[name]; ok {
		return content
	}
	return g.profile.Content[name]
}

// unseen is the message of a declared test that the output does not show.
const unseen = "not seen in the output"

// Seen reports whether a test of a report was in the output. A declared one that was not has
// failed.
func Seen(t parser.Test) bool { return t.Status != parser.Failed || t.Message != unseen }
