package gitsync

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// Bounds of one Git command that talks to a remote. A transfer that crawls ends sooner, by
// the configuration.
const (
	remoteTime = time.Hour
	askTime    = time.Minute
)

// newGit is the Git of a folder: it works on the repository there. file says whether
// repositories on this machine may be read.
func newGit(dir string, file bool) (git.Git, error) {
	g, err := git.New(dir, configuration(file))
	if agent, ok := os.LookupEnv("SSH_AUTH_SOCK"); ok {
		g = g.With("SSH_AUTH_SOCK=" + agent)
	}
	return g.With("GIT_DIR=" + filepath.Join(dir, repoName)), err
}

// quoted is a word for the shell by which Git starts ssh and its credential helpers.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// configuration is what Git sees of it besides what holds for all of ours.
func configuration(file bool) string {
	text := `[protocol "https"]
	allow = always
[protocol "http"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "git"]
	allow = always
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 60
[gc]
	auto = 2000
	autoPackLimit = 30
	pruneExpire = now
[user]
	name = assayd
	email = assayd@localhost
	useConfigOnly = true
`
	if file {
		text += "[protocol \"file\"]\n\tallow = always\n"
	}
	return text
}
