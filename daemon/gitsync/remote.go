package gitsync

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// remote is where a repository is.
type remote struct {
	url            string // without a password
	user, password string // that the address had
	local          bool   // on this machine
}

// scpForm is user@host:path, as ssh takes it.
var scpForm = regexp.MustCompile(`^([^/:@\s]+@)?[^/:\s]+:[^/\s].*$|^([^/:@\s]+@)?[^/:\s]+:/[^/\s].*$`)

// parseRemote reads an address as a person writes it. A password in it is taken out: an
// address is shown, stored, and seen in lists of processes.
func parseRemote(raw string) (remote, error) {
	if raw == "" || strings.HasPrefix(raw, "-") || strings.ContainsAny(raw, "\n\x00") {
		return remote{}, errors.New("the address of the repository is none")
	}
	scheme, _, has := strings.Cut(raw, "://")
	switch {
	case !has && strings.Contains(raw, "::"):
		return remote{}, fmt.Errorf("%s: such an address is not supported; write https, ssh, or a path", raw)
	case !has && scpForm.MatchString(raw):
		return remote{url: raw}, nil
	case !has:
		abs, err := filepath.Abs(raw)
		return remote{url: abs, local: true}, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return remote{}, errors.New("the address of the repository cannot be read") // it may hold a password
	}
	r := remote{local: scheme == "file"}
	switch scheme {
	case "http", "https", "ssh", "git", "file":
	default:
		return remote{}, fmt.Errorf("%s: the transport %q is not supported; use https, http, ssh, git, file, or a path", u.Redacted(), scheme)
	}
	if u.User != nil {
		r.user = u.User.Username()
		r.password, _ = u.User.Password()
		u.User = url.User(r.user)
		if scheme == "http" || scheme == "https" {
			u.User = nil // the helper knows both
		}
	}
	r.url = u.String()
	return r, nil
}

// site is scheme, host and port of an address that takes a user and a password, else "".
func (r remote) site() string {
	u, err := url.Parse(r.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// plain tells whether what is sent there can be read on the way.
func (r remote) plain() bool {
	u, err := url.Parse(r.url)
	return err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") && u.Hostname() != "::1"
}

// hosted is the host and the path of the repository there, "owner/name"; "" where there is
// no host.
func (r remote) hosted() (host, name string) {
	if r.local {
		return "", ""
	}
	if u, err := url.Parse(r.url); err == nil && u.Host != "" {
		host, name = u.Hostname(), u.Path
	} else {
		host, name, _ = strings.Cut(r.url, ":")
		host = host[strings.LastIndex(host, "@")+1:]
	}
	return host, strings.TrimSuffix(strings.Trim(name, "/"), ".git")
}

// beside reads the address of a submodule, which may be relative to that of its parent.
func (r remote) beside(raw string) (remote, error) {
	if !strings.HasPrefix(raw, "./") && !strings.HasPrefix(raw, "../") {
		child, err := parseRemote(raw)
		if err == nil && child.local && !r.local {
			err = fmt.Errorf("%s: a repository elsewhere may not name one on this machine", raw)
		}
		return child, err
	}
	head, tail := "", r.url
	if scheme, rest, ok := strings.Cut(r.url, "://"); ok {
		host, below, _ := strings.Cut(rest, "/")
		head, tail = scheme+"://"+host, "/"+below
	} else if !r.local {
		host, below, _ := strings.Cut(r.url, ":")
		head, tail = host+":", below
	}
	joined := path.Join(tail, raw)
	if strings.HasPrefix(joined, "..") {
		return remote{}, fmt.Errorf("%s: it leads out of %s", raw, r.url)
	}
	return parseRemote(head + joined)
}
