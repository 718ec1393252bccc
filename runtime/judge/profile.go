package judge

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/task"
)

// Contents of hidden files are kept up to these bounds, for tripwires to look at.
const (
	maxHiddenFile = 256 << 10
	maxHiddenAll  = 8 << 20
)

// profile is what must be known of a judge image before anything is laid over it.
type profile struct {
	Hidden  []string          // hidden files, links and folders below workdir
	Files   []string          // the regular files among them
	Links   map[string]string // as in Rules.Links
	Content map[string][]byte // of small hidden files
	// Expecting are the Python files, hidden or not, that expect a test to fail.
	Expecting map[string]bool
	Sums      map[string]string // SHA-256 of hidden files that no run has a reason to change
	Present   map[string]bool   // as in Rules.Present
	settled                     // what is the image's without being hidden
	UID       int               // of the judge's user
	GID       int
	User      string // as the engine is to be told, "" = root
}

// profileKey identifies the profile that a session needs.
func (s *session) profileKey() string {
	j := s.Task.Judge
	b, err := json.Marshal([]any{
		s.JudgeImage, s.Task.Workdir, s.Task.Submit, s.protect(), s.HiddenPaths, j.User, s.context.Digest, s.overlay.Digest,
	})
	if err != nil {
		panic(err) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// profiles remembers profiles for as long as a session refers to them.
type profiles struct {
	entries map[string]*profileEntry // guarded by Judge.mu
}

type profileEntry struct {
	users int
	turn  chan struct{} // held by whoever makes the profile
	made  *profile
}

func (p *profiles) acquire(key string) {
	e := p.entries[key]
	if e == nil {
		e = &profileEntry{turn: make(chan struct{}, 1)}
		p.entries[key] = e
	}
	e.users++
}

func (p *profiles) release(key string) {
	if e := p.entries[key]; e != nil {
		if e.users--; e.users == 0 {
			delete(p.entries, key)
		}
	}
}

// profile returns the profile of the session's judge image, looking at the image when
// nobody has yet. Those who come meanwhile wait for the first.
func (j *Judge) profile(ctx context.Context, s *session) (*profile, error) {
	j.mu.Lock()
	e := j.profiles.entries[s.key]
	j.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("profile judge image of trial %s: the session is gone", s.Trial)
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.made != nil {
		return e.made, nil
	}
	p, err := j.makeProfile(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look at judge image %s: %w", s.JudgeImage, err)
	}
	e.made = p
	return p, nil
}

// makeProfile starts a container of the judge image, lays over it what is laid over each,
// and reads its workdir. Nothing submitted is in it.
func (j *Judge) makeProfile(ctx context.Context, s *session) (_ *profile, err error) {
	imageUser := ""
	if images, ok := j.opts.Engine.(container.Images); ok {
		img, err := images.Image(ctx, s.JudgeImage)
		if err != nil {
			return nil, err
		}
		imageUser = img.Config.User
	}
	w := j.workload(s, j.name("profile-"+newID()), "") // never one that a former daemon had begun with
	w.Network = container.NetworkNone
	defer j.remove(ctx, w.Name) // also where the engine's answer was lost, and there is one
	inst, err := j.launch(ctx, w)
	if err != nil {
		return nil, err
	}
	fault.Reached(fault.ImageLookedAt)
	p := &profile{User: s.Task.Judge.User}
	if p.User == "" {
		p.User = imageUser
	}
	if p.UID, p.GID, err = j.lookupUser(ctx, inst.ID, p.User); err != nil {
		return nil, err
	}
	hidden := slices.Clone(s.HiddenPaths)
	for _, tree := range []task.Tree{s.context, s.overlay} {
		names, err := j.lay(ctx, inst.ID, s.Task.Workdir, tree, time.Time{})
		if rejected(ctx, err) {
			err = &Unfit{attributeOf(s.Task, tree), err}
		}
		if err != nil {
			return nil, err
		}
		hidden = append(hidden, names...)
	}
	stream, err := j.copier.CopyFrom(ctx, inst.ID, s.Task.Workdir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	book, err := newRulebook(Rules{Submit: s.Task.Submit, Protect: s.protect(), Hidden: hidden})
	if err != nil {
		return nil, err
	}
	return p, p.walk(tar.NewReader(stream), s.Task.Workdir, book)
}

// walk fills in Hidden, Links and Content from a tar stream of the workdir.
func (p *profile) walk(r *tar.Reader, workdir string, book *rulebook) error {
	p.Content, p.Present = map[string][]byte{}, map[string]bool{}
	p.settled = newSettled()
	raw := map[string]string{}
	kept := 0
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			p.Links = resolveAll(raw, workdir)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read workdir %s: %w", workdir, err)
		}
		name := below(h.Name, workdir)
		if name == "" {
			continue
		}
		if h.Typeflag == tar.TypeSymlink {
			raw[name] = h.Linkname
		}
		content, err := p.expecting(h, r, name)
		if err != nil {
			return fmt.Errorf("read %s in workdir %s: %w", name, workdir, err)
		}
		if !book.untouchable(name) {
			if err := p.see(name, h, r); err != nil {
				return fmt.Errorf("read %s in workdir %s: %w", name, workdir, err)
			}
			if h.Typeflag != tar.TypeSymlink && book.filter.inside(name) {
				p.Present[name] = h.Typeflag == tar.TypeDir
			}
			continue
		}
		p.Hidden = append(p.Hidden, name)
		p.mark(name, h)
		if h.Typeflag == tar.TypeReg {
			p.Files = append(p.Files, name)
		}
		if h.Typeflag == tar.TypeReg && h.Size <= maxHiddenFile && kept+int(h.Size) <= maxHiddenAll {
			if content == nil {
				if content, err = io.ReadAll(r); err != nil {
					return fmt.Errorf("read %s in workdir %s: %w", name, workdir, err)
				}
			}
			p.Content[name] = content
			kept += len(content)
			p.head(name, h)
		}
		if h.Typeflag == tar.TypeReg {
			if err := p.digest(r, name, content, book.hidden[name]); err != nil {
				return fmt.Errorf("read %s in workdir %s: %w", name, workdir, err)
			}
		}
	}
}

// below strips what the engine puts in front of names: the last element of the workdir.
func below(name, workdir string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	base := strings.TrimPrefix(path.Base(workdir), "/")
	if base == "" {
		return name
	}
	rest, ok := strings.CutPrefix(name, base+"/")
	if !ok {
		return ""
	}
	return rest
}

// resolveAll follows every link to its end; what leaves the workdir or goes in circles
// ends in "".
func resolveAll(raw map[string]string, workdir string) map[string]string {
	links := make(map[string]string, len(raw))
	for name := range raw {
		links[name] = resolve(name, raw, workdir)
	}
	return links
}

func resolve(name string, raw map[string]string, workdir string) string {
	rest := strings.Split(name, "/")
	at := "" // resolved so far, relative to workdir
	for hops := 0; len(rest) > 0; {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return ""
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, element)
		target, ok := raw[next]
		if !ok {
			at = next
			continue
		}
		if hops++; hops > 40 {
			return ""
		}
		if path.IsAbs(target) {
			inside, ok := strings.CutPrefix(path.Clean(target)+"/", path.Clean(workdir)+"/")
			if !ok {
				return ""
			}
			target, at = inside, ""
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if at == "" {
		return "."
	}
	return at
}
