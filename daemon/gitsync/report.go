package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/github"
)

// verdict is what the reconciler says of a commit.
type verdict struct {
	word   string // accepted, rejected
	errors int
	detail string
}

// maxDetail bounds a verdict in words, in bytes.
const maxDetail = 64 << 10

// verdictOn sums up what is wrong with the specs below path.
func verdictOn(ds config.Diagnostics, below string) verdict {
	v := verdict{word: "accepted"}
	ds = slices.Clone(ds)
	slices.SortStableFunc(ds, func(a, b config.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) }) // errors first
	var lines strings.Builder
	for _, d := range ds {
		if d.Severity == config.Error {
			v.word = "rejected"
			v.errors++
		}
		if lines.Len() < maxDetail {
			fmt.Fprintf(&lines, "%s:%d:%d: %s: %s. %s\n", path.Join(below, d.File), d.Line, d.Column, d.Severity, d.Summary, d.Detail)
		}
	}
	v.detail = lines.String()
	return v
}

// host is a GitHub that shows a status at a commit.
type host struct {
	client      *github.Client
	owner, name string
}

// servedBy reports whether the API at an address is that of a Git host.
func servedBy(api, host string) bool {
	u, err := url.Parse(api)
	return err == nil && host != "" && (u.Hostname() == host || u.Hostname() == "api."+host)
}

// statusContext is who speaks, in a commit status.
const statusContext = "assayd"

// show brings the verdict to where the repository is: as a commit status where that is a
// GitHub, else, where results are pushed, as a note. What fails is tried again.
func (s *Syncer) show(ctx context.Context) error {
	now := s.recalled()
	if now.Verdict == "" || now.Shown {
		return nil
	}
	var err error
	switch {
	case s.host != nil:
		err = s.host.client.SetStatus(ctx, s.host.owner, s.host.name, now.Now.Commit,
			github.Status{Context: statusContext, OK: now.Verdict == "accepted", Description: now.summary()})
	case s.o.Git.PushResults != "":
		err = s.pushNote(ctx, now)
	}
	if err != nil {
		if ctx.Err() == nil {
			s.o.Log.Warn("the repository is not told what became of a commit", "commit", now.Now.Commit, "verdict", now.Verdict, "error", err)
		}
		return err
	}
	return s.remember(func(m *memory) { m.Shown = m.Now == now.Now })
}

// summary is the verdict in a line.
func (m memory) summary() string {
	first, _, _ := strings.Cut(m.Detail, "\n")
	switch {
	case m.Errors == 1:
		return "1 error: " + first
	case m.Errors > 1:
		return fmt.Sprintf("%d errors, the first: %s", m.Errors, first)
	}
	return "all specs are accepted"
}

// attempts is how often a push is rebuilt on top of what somebody else pushed meanwhile.
const attempts = 5

// pushNote attaches the verdict to the commit as a note of the remote's.
func (s *Syncer) pushNote(ctx context.Context, now memory) error {
	text := fmt.Sprintf("assayd: %s\n\n%s", now.Verdict, now.Detail)
	return s.pushing(ctx, refNotes, refNotes, func(string) error {
		_, err := s.git.Feed(ctx, strings.NewReader(text), "notes", "--ref", refNotes, "add", "--force", "--file=-", now.Now.Commit)
		return err
	})
}
