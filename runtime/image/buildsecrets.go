package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

// BuildSecrets is what the commands of a build are lent: it is in no image, no name and no history.
// Passwords in addresses are kept as secret as Secrets.
type BuildSecrets struct {
	// Secrets are given to the setup commands of tasks, by the name of the variable.
	Secrets map[string]string
	// Mirrors are addresses to be used in place of the usual ones, by kind: apt, pip, npm,
	// go, maven; and git, which stands for https://github.com and Forge where repositories are cloned.
	Mirrors map[string]string
	// Forge is the address of the repositories of an enterprise's GitHub; "" = none.
	Forge string
	// Proxy is for what leaves the build container; "" = none.
	Proxy string
}

// mirrorVariables are what programs read the addresses of mirrors from.
var mirrorVariables = map[string]string{
	"pip": "PIP_INDEX_URL", "npm": "npm_config_registry", "go": "GOPROXY", "maven": "MAVEN_MIRROR_URL",
}

// env is the environment of every command of a build.
func (l BuildSecrets) env() map[string]string {
	env := map[string]string{}
	for kind, variable := range mirrorVariables {
		if at := l.Mirrors[kind]; at != "" {
			env[variable] = at
		}
	}
	if l.Proxy != "" {
		for _, variable := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
			env[variable] = l.Proxy
		}
	}
	return env
}

// Lends is what commands with network may know of the settings, as environment: mirrors and the
// proxy. It holds no secret: an address with a password is left out.
func (b *Builder) Lends() map[string]string {
	env := b.opts.BuildSecrets.env()
	maps.DeleteFunc(env, func(_, address string) bool {
		at, err := url.Parse(address)
		return err != nil || at.User != nil
	})
	return env
}

// hide replaces secrets in what a command said.
func (l BuildSecrets) hide(text []byte) []byte {
	for _, form := range l.forms(1) {
		text = bytes.ReplaceAll(text, form, []byte("***"))
	}
	return text
}

// passwords are those in the addresses of mirrors and of the proxy.
func (l BuildSecrets) passwords() (all []string) {
	for _, address := range append(slices.Collect(maps.Values(l.Mirrors)), l.Proxy) {
		if at, err := url.Parse(address); err == nil {
			if password, ok := at.User.Password(); ok {
				all = append(all, password)
			}
		}
	}
	return all
}

// forms are the texts that show a secret of at least so many bytes, the longest first.
func (l BuildSecrets) forms(least int) (all [][]byte) {
	for _, value := range append(slices.Collect(maps.Values(l.Secrets)), l.passwords()...) {
		value = strings.TrimSpace(value)
		shown := []string{value, url.QueryEscape(value), url.PathEscape(value)}
		if strings.Contains(value, "\n") { // as of a key: each line gives a part of it away
			shown = append(shown, slices.DeleteFunc(strings.Split(value, "\n"), commonLine)...)
		}
		for _, form := range shown {
			if len(form) >= max(least, 1) {
				all = append(all, []byte(form))
			}
		}
	}
	slices.SortFunc(all, func(a, b []byte) int { return len(b) - len(a) })
	return all
}

// commonLine reports whether a line of a secret tells nothing of it.
func commonLine(line string) bool { return len(line) < shortSecret || strings.HasPrefix(line, "-----") }

// shortSecret is how short a secret must be not to be looked for in images: a user's name
// of a few letters is everywhere.
const shortSecret = 8

// leaks looks for secrets in all files of the container, which must not run. It does not
// see what is compressed.
func (s *buildStep) leaks(ctx context.Context) error {
	l := s.b.opts.BuildSecrets
	if s.recipe.Role == container.RoleBase {
		l.Secrets = nil // its commands were lent none
	}
	forms := l.forms(shortSecret)
	if len(forms) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.b.runtime, errTooLong)
	defer cancel()
	rc, err := s.b.copier.CopyFrom(ctx, s.id, "/")
	if err != nil {
		return fmt.Errorf("look for secrets in the image: %w", err)
	}
	defer rc.Close()
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for secrets in the image: %w", err)
		}
		found, err := holds(io.MultiReader(strings.NewReader(h.Name+"\n"+h.Linkname+"\n"), tr), forms)
		if err != nil {
			return fmt.Errorf("look for secrets in %s of the image: %w", h.Name, err)
		}
		if found {
			return &LeakError{s.recipe.Role, string(s.b.opts.BuildSecrets.hide([]byte(path.Join("/", h.Name))))}
		}
	}
}

// LeakError says that a build left a secret in the file system of its image.
type LeakError struct {
	Role string // of the image
	File string
}

// Unwrap makes it a *SetupError to those who ask who has to mend it.
func (e *LeakError) Unwrap() error { return &SetupError{Role: e.Role, Attribute: "setup"} }

// Error names the file.
func (e *LeakError) Error() string {
	return fmt.Sprintf("the build left the value of a secret in %s, where everybody who has the image could read it: remove it in the command that needed it", e.File)
}

// holds reports whether one of the forms is in what is read.
func holds(r io.Reader, forms [][]byte) (bool, error) {
	longest := len(forms[0])
	buf := make([]byte, 64<<10+longest)
	kept := 0 // bytes at the front that were searched, in which a form may begin
	for {
		n, err := r.Read(buf[kept:])
		window := buf[:kept+n]
		for _, form := range forms {
			if bytes.Contains(window, form) {
				return true, nil
			}
		}
		kept = copy(buf, window[max(0, len(window)-longest+1):])
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// distribution matches the addresses of Debian's and Ubuntu's own servers.
var distribution = regexp.MustCompile(`https?://(?:deb\.debian\.org|security\.debian\.org|httpredir\.debian\.org|ftp(?:\.[a-z]+)?\.debian\.org|(?:[a-z]+\.)?archive\.ubuntu\.com|security\.ubuntu\.com|ports\.ubuntu\.com)\b`)

// Bounds on apt's sources: of one list, and of all of them.
const (
	maxSources    = 1 << 20
	maxAllSources = 16 << 20
)

// source is a list of apt's sources: a file below /etc.
type source struct {
	head *tar.Header
	text []byte
}

// throughMirror points apt at the mirror, if there is one, and returns what undoes it.
func (s *buildStep) throughMirror(ctx context.Context) (undo func(context.Context) error, err error) {
	mirror := strings.TrimSuffix(s.b.opts.BuildSecrets.Mirrors["apt"], "/")
	if mirror == "" {
		return func(context.Context) error { return nil }, nil
	}
	was, err := s.sources(ctx)
	if err != nil {
		return nil, fmt.Errorf("read apt's sources: %w", err)
	}
	now := make([]source, len(was))
	for i, one := range was {
		head := *one.head
		now[i] = source{&head, distribution.ReplaceAllLiteral(one.text, []byte(mirror))}
		head.Size = int64(len(now[i].text))
	}
	if err := s.putSources(ctx, now); err != nil {
		return nil, fmt.Errorf("point apt at the mirror: %w", err)
	}
	return func(ctx context.Context) error {
		if err := s.putSources(ctx, was); err != nil {
			return fmt.Errorf("put apt's sources back: %w", err)
		}
		return nil
	}, nil
}

// sources are the lists that name a server of the distribution.
func (s *buildStep) sources(ctx context.Context) (all []source, err error) {
	rc, err := s.b.copier.CopyFrom(ctx, s.id, "/etc/apt")
	if errors.Is(err, container.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	room := maxAllSources
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		list := h.Name == "apt/sources.list" || path.Dir(h.Name) == "apt/sources.list.d"
		if !list || h.Typeflag != tar.TypeReg || h.Size > maxSources {
			continue
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return nil, err
		}
		if !distribution.Match(text) {
			continue
		}
		if room -= len(text); room < 0 {
			return nil, fmt.Errorf("they are more than %d bytes", maxAllSources)
		}
		all = append(all, source{h, text})
	}
}

func (s *buildStep) putSources(ctx context.Context, all []source) error {
	if len(all) == 0 {
		return nil
	}
	return s.put(ctx, "/etc", func(tw *tar.Writer) error {
		for _, one := range all {
			if err := tw.WriteHeader(one.head); err != nil {
				return err
			}
			if _, err := tw.Write(one.text); err != nil {
				return err
			}
		}
		return nil
	})
}

// lend adds what every command is lent, and to those of tasks the secrets. What the recipe
// says itself wins over mirrors.
func (s *buildStep) lend(env map[string]string, secrets bool) map[string]string {
	env = merge(s.b.opts.BuildSecrets.env(), env)
	if secrets {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, s.b.opts.BuildSecrets.Secrets)
	}
	return env
}
