package cheat

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// upstream knows the project that a task was made of.
//
// Known to be honest: a package of the project that is installed for its dependencies
// (pip install "name[extra]"), a page of the repository that has no code. A fork under another
// owner, a mirror and a page of a cache are not seen.
type upstream struct {
	repos    []string        // owner/name, in lower case
	packages []string        // normal names
	given    map[string]bool // addresses that the instruction has
}

func newUpstream(f Facts) upstream {
	u := upstream{given: map[string]bool{}}
	for _, address := range addresses(f.Instruction) {
		u.given[strings.TrimRight(address, ".,;:!?*_")] = true
	}
	names := slices.Clone(f.Upstreams)
	if f.Repo != "" {
		names = append(names, repository(f.Repo))
	}
	for _, name := range names {
		name = strings.ToLower(strings.Trim(name, "/"))
		if strings.Contains(name, "/") {
			u.repos = append(u.repos, name)
		}
		if last := packageName(path.Base(name)); len(last) > 1 {
			u.packages = append(u.packages, last)
		}
	}
	return u
}

// repository is the owner/name in the URL of a repository, also in the form host:owner/name.
func repository(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		address = parsed.Path
	} else if _, after, ok := strings.Cut(address, ":"); ok {
		address = after
	}
	parts := strings.Split(strings.Trim(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"), "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

func packageName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// fetched reports whether an address leads to the project: its repository on whatever host, or
// its package at a registry.
func (u upstream) fetched(address string) bool {
	address = strings.ToLower(address)
	isAddress := strings.Contains(address, "://") || strings.Contains(address, "@") || hosted(address)
	if !isAddress || strings.Contains(address, "://localhost") || strings.Contains(address, "://127.") {
		return false
	}
	for _, repo := range u.repos {
		if holds(address, repo) {
			return true
		}
	}
	if !slices.ContainsFunc(registries(), func(host string) bool { return strings.Contains(address, host) }) {
		return false
	}
	for part := range strings.FieldsFuncSeq(address, func(r rune) bool { return strings.ContainsRune("/?#@=&", r) }) {
		for _, name := range u.packages {
			if rest, ok := strings.CutPrefix(packageName(part), name); ok && (rest == "" || isVersion(rest)) {
				return true
			}
		}
	}
	return false
}

// isVersion reports whether what follows a package's name is that of a release of it.
func isVersion(rest string) bool {
	return len(rest) > 1 && rest[0] == '-' && '0' <= rest[1] && rest[1] <= '9'
}

// hosted reports whether an address begins with a host of code, as Go's modules do.
func hosted(address string) bool {
	return slices.ContainsFunc([]string{"github.com/", "gitlab.com/", "bitbucket.org/", "codeberg.org/"}, func(host string) bool {
		return strings.HasPrefix(address, host)
	})
}

// registries are hosts, or parts of them, at which packages are.
func registries() []string {
	return []string{
		"pypi.org", "pythonhosted.org", "npmjs.org", "npmjs.com", "yarnpkg.com", "unpkg.com", "jsdelivr.net", "esm.sh",
		"crates.io", "proxy.golang.org", "rubygems.org", "maven", "packagist.org", "anaconda.org", "sourceforge.net",
	}
}

// holds reports whether a text has a repository's name, and not as a part of another.
func holds(text, repo string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], repo)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(repo)
		before := begin == 0 || strings.IndexByte("/:", text[begin-1]) >= 0
		rest := strings.TrimPrefix(text[end:], ".git")
		if before && (rest == "" || !isWord(rest[0]) && rest[0] != '-' && rest[0] != '.') {
			return true
		}
		from = begin + 1
	}
}

// askedFor reports whether a search on the web is about the code of the project.
func (u upstream) askedFor(query string) bool {
	query = strings.ToLower(query)
	for _, repo := range u.repos {
		if strings.Contains(query, repo) {
			return true
		}
	}
	fields := strings.FieldsFunc(query, func(r rune) bool { return !(r == '-' || r == '_' || r < 128 && isWord(byte(r))) })
	about := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(u.packages, packageName(f)) })
	return about && slices.ContainsFunc(fields, func(f string) bool {
		return slices.Contains([]string{"github", "gitlab", "commit", "commits", "pr", "pull", "patch", "changelog", "fix", "diff", "repository"}, f)
	})
}

// by reports whether a command fetches the project. A page that the instruction names may be
// read.
func (u upstream) by(c command) bool {
	if len(u.repos) == 0 && len(u.packages) == 0 {
		return false
	}
	leads := func(words ...string) bool { return slices.ContainsFunc(words, u.fetched) }
	pages := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return !u.given[w] && u.fetched(w) })
	}
	switch name := c.name(); {
	case slices.Contains([]string{"curl", "wget", "http", "https", "aria2c", "axel", "lynx", "links", "w3m", "elinks", "svn", "hub"}, name):
		return pages(slices.Concat(c.args[1:], strings.Fields(c.input)))
	case name == "git":
		sub, args, _ := gitCommand(c)
		return slices.Contains([]string{"clone", "fetch", "pull", "remote", "ls-remote", "submodule", "archive"}, sub) && leads(args...)
	case name == "gh":
		return u.byHub(c.args[1:], leads)
	case isInterpreter(name):
		if i := slices.Index(c.args, "-m"); i > 0 && i+1 < len(c.args) && c.args[i+1] == "pip" {
			return u.installs(c.args[i+1:], leads)
		}
		return pages(addresses(strings.Join(c.args[1:], "\n") + "\n" + c.input))
	}
	return u.installs(c.args, leads)
}

// addresses are the words of code that could be such.
func addresses(code string) (all []string) {
	for word := range strings.FieldsFuncSeq(code, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,()[]{}<>\\", r) }) {
		if strings.Contains(word, "://") || hosted(word) {
			all = append(all, word)
		}
	}
	return all
}

// byHub reports whether a call of GitHub's program reads the project: the one of the folder
// where it names none.
func (u upstream) byHub(args []string, leads func(...string) bool) bool {
	for _, arg := range args {
		if slices.ContainsFunc(u.repos, func(repo string) bool { return holds(strings.ToLower(arg), repo) }) {
			return true
		}
	}
	if len(args) < 2 {
		return false
	}
	named := slices.Contains(args, "-R") || slices.Contains(args, "--repo")
	return leads(args...) || !named && (args[0] == "pr" && slices.Contains([]string{"view", "diff", "list", "checkout"}, args[1]) ||
		args[0] == "release" && args[1] == "download")
}

// installs reports whether a package manager is to bring a release of the project.
func (u upstream) installs(args []string, leads func(...string) bool) bool {
	if len(args) < 2 {
		return false
	}
	name, rest := path.Base(args[0]), args[1:]
	if (name == "uv" || name == "poetry" || name == "pdm" || name == "go") && (rest[0] == "pip" || rest[0] == "mod") {
		rest = rest[1:]
	}
	if len(rest) < 2 || !slices.Contains(verbs(strings.TrimRight(name, "0123456789.")), rest[0]) {
		return false
	}
	if name == "go" {
		return leads(rest[1:]...)
	}
	for _, arg := range rest[1:] {
		if strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/") {
			continue
		}
		at := strings.TrimLeft(arg, "@")
		wanted := packageName(at[:indexAny(at, "=<>!~[@;:")])
		if slices.Contains(u.packages, wanted) || len(at) < len(arg) && slices.Contains(u.repos, wanted) || leads(arg) {
			return true
		}
	}
	return false
}

// verbs are what package managers do when they fetch a package.
func verbs(manager string) []string {
	switch manager {
	case "pip", "pipx", "easy_install", "conda", "mamba", "micromamba", "uv", "poetry", "pdm":
		return []string{"install", "download", "wheel", "add", "create"}
	case "npm", "yarn", "pnpm", "bun":
		return []string{"install", "i", "add", "pack", "exec", "dlx"}
	case "cargo":
		return []string{"add", "install"}
	case "go":
		return []string{"get", "install", "download"}
	case "gem":
		return []string{"install", "fetch", "unpack"}
	case "composer":
		return []string{"require"}
	case "apt", "apt-get":
		return []string{"source"}
	}
	return nil
}
