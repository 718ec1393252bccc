package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// maxMix bounds the hidden files of a mix: what is kept of them all, and room for headers.
const maxMix = sandbox.MaxHiddenAll + 4<<20

// Mixed has the archive of a submission judged with other content in some hidden files,
// once for each key: a repeated call returns what the first one made. All else is as it was.
// The files must be among those of HiddenCode. The round waits behind the rounds of other
// trials; Wait waits for its verdict. No agent ever sees it.
func (j *Judge) Mixed(ctx context.Context, trial string, of round.Submission, key string, files map[string][]byte) (round.Submission, error) {
	mix, err := j.KeepMix(files)
	if err != nil {
		return round.Submission{}, fmt.Errorf("judge round %s of trial %s by a mix: %w", of.Round, trial, err)
	}
	return j.again(ctx, trial, of, round.Offer{Kind: round.KindMixed, Key: key}, mix)
}

// MixedKey is the idempotency key of the n-th mixed run of a round.
func MixedKey(round string, n int) string { return fmt.Sprintf("mixed/%s/%d", round, n) }

// again has the archive of a submission judged once more by another kind of round.
func (j *Judge) again(ctx context.Context, trial string, of round.Submission, o round.Offer, mix string) (round.Submission, error) {
	s, err := j.admit(trial, o.Kind)
	if err != nil {
		return round.Submission{}, err
	}
	o.ID, o.Now = round.NewID(), s.Line.Now()
	var repeated *round.Submission
	sub, err := j.opts.Ledger.Reserve(ctx, trial, func(past []round.Submission) (round.Submission, error) {
		next, old, err := round.Decide(s.Session, o, past)
		if old != nil {
			repeated = old
			return round.Submission{}, round.ErrUnchanged
		}
		// Nothing has to arrive any more: it is accepted as it is reserved.
		next.State, next.AcceptedAt = round.StateQueued, o.Now
		next.Archive, next.Bytes, next.Dropped, next.Mix = of.Archive, of.Bytes, of.Dropped, mix
		return next, err
	})
	if errors.Is(err, round.ErrUnchanged) {
		return *repeated, nil
	}
	if err != nil {
		return round.Submission{}, fmt.Errorf("reserve a round of kind %s of trial %s: %w", o.Kind, trial, err)
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
		return &sandbox.SourceError{Cause: fmt.Errorf("open the mix of tests %s: %w", g.sub.Mix, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	g.mix = map[string][]byte{}
	err = sandbox.EachEntry(tar.NewReader(io.LimitReader(blob, maxMix)), func(h *tar.Header, body io.Reader) error {
		if _, ok := g.profile.Heads[h.Name]; !ok {
			return fmt.Errorf("%s is no hidden file of the judge image", h.Name)
		}
		content, err := io.ReadAll(body)
		g.mix[h.Name] = content
		return err
	})
	if err != nil {
		return &sandbox.SourceError{Cause: fmt.Errorf("read the mix of tests %s: %w", g.sub.Mix, err)}
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

// Private has the archive of a submission judged by the private set, once: a repeated call
// returns what the first one made. The round is in the queue like any other; Wait waits for
// its verdict. No agent ever sees it.
func (j *Judge) Private(ctx context.Context, trial string, of round.Submission) (round.Submission, error) {
	s, err := j.admit(trial, round.KindPrivate)
	if err != nil {
		return round.Submission{}, err
	}
	if s.private == nil {
		return round.Submission{}, fmt.Errorf("judge round %s of trial %s by the private set: the task has none", of.Round, trial)
	}
	return j.again(ctx, trial, of, round.Offer{Kind: round.KindPrivate, Key: PrivateKey(of.Round)}, "")
}

// PrivateKey is the idempotency key of what the private set says of a round.
func PrivateKey(round string) string { return "private/" + round }
