package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
)

// Contents of hidden files are kept up to these bounds, for tripwires to look at.
const (
	maxHiddenFile = 256 << 10
	MaxHiddenAll  = 8 << 20
)

// Profile is what must be known of a judge image before anything is laid over it.
type Profile struct {
	Hidden  []string          // hidden files, links and folders below workdir
	Files   []string          // the regular files among them
	Links   map[string]string // as in Rules.Links
	Content map[string][]byte // of small hidden files
	// Expecting are the Python files, hidden or not, that expect a test to fail.
	Expecting  map[string]bool
	Sums       map[string]string // SHA-256 of hidden files that no run has a reason to change
	Present    map[string]bool   // as in Rules.Present
	imageFiles                   // what is the image's without being hidden
	UID        int               // of the judge's user
	GID        int
	User       string // as the engine is to be told, "" = root
}

// Profiles remembers profiles for as long as somebody needs them.
type Profiles struct {
	host *Host

	mu      sync.Mutex
	entries map[string]*profileEntry // by key of Terms
}

type profileEntry struct {
	users int
	turn  chan struct{} // held by whoever makes the profile
	made  *Profile
}

// NewProfiles remembers what images hold that are looked at in containers of the host.
func NewProfiles(h *Host) *Profiles { return &Profiles{host: h, entries: map[string]*profileEntry{}} }

// Acquire keeps the profile of that key, once it is made, until it is released as often.
func (p *Profiles) Acquire(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	if e == nil {
		e = &profileEntry{turn: make(chan struct{}, 1)}
		p.entries[key] = e
	}
	e.users++
}

// Release takes an acquire back.
func (p *Profiles) Release(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[key]; e != nil {
		if e.users--; e.users == 0 {
			delete(p.entries, key)
		}
	}
}

// Of returns the profile of an image under such terms, whose key is acquired. The first who asks
// looks at the image; those who come meanwhile wait.
func (p *Profiles) Of(ctx context.Context, key string, t Terms) (*Profile, error) {
	p.mu.Lock()
	e := p.entries[key]
	p.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("profile judge image of trial %s: the session is gone", t.Trial)
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
	made, err := p.host.makeProfile(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("look at judge image %s: %w", t.Image, err)
	}
	e.made = made
	return made, nil
}

// makeProfile starts a container of the judge image, lays over it what is laid over each,
// and reads its workdir. Nothing submitted is in it.
func (h *Host) makeProfile(ctx context.Context, t Terms) (_ *Profile, err error) {
	imageUser := ""
	if images, ok := h.Engine.(container.Images); ok {
		img, err := images.Image(ctx, t.Image)
		if err != nil {
			return nil, err
		}
		imageUser = img.Config.User
	}
	w := h.Workload(t, h.ContainerName("profile-"+round.NewID()), "", "") // never one that a former daemon had begun with
	w.Network = container.NetworkNone
	defer h.Remove(ctx, w.Name) // also where the engine's answer was lost, and there is one
	inst, err := h.Launch(ctx, w)
	if err != nil {
		return nil, err
	}
	fault.Reached(fault.ImageLookedAt)
	p := &Profile{User: t.Task.Judge.User}
	if p.User == "" {
		p.User = imageUser
	}
	if p.UID, p.GID, err = h.lookupUser(ctx, inst.ID, p.User); err != nil {
		return nil, err
	}
	hidden := slices.Clone(t.HiddenPaths)
	for _, tree := range []task.Tree{t.Context, t.Overlay} {
		names, err := h.Overlay(ctx, inst.ID, t.Task.Workdir, tree, time.Time{})
		if Rejected(ctx, err) {
			err = &ImageError{attributeOf(t.Task, tree), err}
		}
		if err != nil {
			return nil, err
		}
		hidden = append(hidden, names...)
	}
	stream, err := h.Copier.CopyFrom(ctx, inst.ID, t.Task.Workdir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	book, err := sanitize.NewRulebook(sanitize.Rules{Submit: t.Task.Submit, Protect: t.Protect, Hidden: hidden})
	if err != nil {
		return nil, err
	}
	return p, p.walk(tar.NewReader(stream), t.Task.Workdir, book)
}

// walk fills in Hidden, Links and Content from a tar stream of the workdir.
func (p *Profile) walk(r *tar.Reader, workdir string, book *sanitize.Rulebook) error {
	p.Content, p.Present = map[string][]byte{}, map[string]bool{}
	p.imageFiles = newSettled()
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
		if !book.Untouchable(name) {
			if err := p.see(name, h, r); err != nil {
				return fmt.Errorf("read %s in workdir %s: %w", name, workdir, err)
			}
			if h.Typeflag != tar.TypeSymlink && book.Inside(name) {
				p.Present[name] = h.Typeflag == tar.TypeDir
			}
			continue
		}
		p.Hidden = append(p.Hidden, name)
		p.mark(name, h)
		if h.Typeflag == tar.TypeReg {
			p.Files = append(p.Files, name)
		}
		if h.Typeflag == tar.TypeReg && h.Size <= maxHiddenFile && kept+int(h.Size) <= MaxHiddenAll {
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
			if err := p.digest(r, name, content, book.Hides(name)); err != nil {
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
