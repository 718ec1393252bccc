package archive

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// Merge is a pull request that an archive tells was merged. Payloads since October 2025 say
// little: what they leave out is "".
type Merge struct {
	ID         string // of the event; such ids have no order
	Repo       string // owner/name as it was called then
	Number     int
	Actor      string // who merged it
	Org        string // login of the organisation that owns the repository; "" = a person's
	BaseRef    string // branch that it was merged into
	HeadRef    string
	BaseSHA    string // as the pull request has it; not what it was merged onto
	MergeSHA   string // older payloads only, as all below but the time
	Title      string
	Author     string
	AuthorType string    // User, Bot, Organization, Mannequin
	At         time.Time // of the event, UTC
}

// verdict is what a line is.
type verdict int

const (
	blank       verdict = iota
	other               // no event of a pull request
	pullRequest         // one that is no merge
	merge
	malformed // no JSON, or a merge of nothing that could be named
)

// event is what is looked at in a line.
type event struct {
	id, kind, at, actor, repo, org              raw
	action, title, author, authorType, mergeSHA raw
	baseRef, baseSHA, headRef                   raw
	number, pullNumber                          []byte
	merged                                      bool
	stop                                        bool // it is known to be no merge: the rest is not looked at
}

// read looks at a line until it knows what it is. The merge is filled in if it is one. Lines
// keep their order of members in real archives, but nothing here relies on it.
func read(line []byte) (verdict, Merge) {
	w, e := walker{b: line}, event{}
	if !w.space() {
		return blank, Merge{}
	}
	whole := e.top(&w) && !w.space()
	switch {
	case !whole && !e.stop:
		return malformed, Merge{}
	case !e.kind.is("PullRequestEvent"):
		return other, Merge{}
	case e.stop || !e.action.is("merged") && !(e.action.is("closed") && e.merged):
		return pullRequest, Merge{}
	}
	m, ok := e.merge()
	if !ok {
		return malformed, Merge{}
	}
	return merge, m
}

var (
	topMembers     = []string{"type", "id", "actor", "repo", "payload", "created_at", "org"}
	payloadMembers = []string{"action", "number", "pull_request"}
	pullMembers    = []string{"number", "title", "user", "merge_commit_sha", "head", "base", "merged"}
	loginMembers   = []string{"login", "type"}
	nameMembers    = []string{"name"}
	branchMembers  = []string{"ref", "sha"}
)

func (e *event) top(w *walker) bool {
	return w.object(topMembers, func(i int) bool {
		switch i {
		case 0:
			ok := w.stringOr(&e.kind)
			e.stop = ok && !e.kind.is("PullRequestEvent")
			return ok && !e.stop
		case 1:
			return w.stringOr(&e.id)
		case 2:
			return strs(w, loginMembers[:1], &e.actor)
		case 3:
			return strs(w, nameMembers, &e.repo)
		case 4:
			return e.payload(w)
		case 5:
			return w.stringOr(&e.at)
		default:
			return strs(w, loginMembers[:1], &e.org)
		}
	})
}

func (e *event) payload(w *walker) bool {
	return w.object(payloadMembers, func(i int) bool {
		switch i {
		case 0:
			ok := w.stringOr(&e.action)
			e.settle(ok && !e.action.is("merged") && !e.action.is("closed"))
			return ok && !e.stop
		case 1:
			return w.numberOr(&e.number)
		default:
			return e.pull(w)
		}
	})
}

func (e *event) pull(w *walker) bool {
	return w.object(pullMembers, func(i int) bool {
		switch i {
		case 0:
			return w.numberOr(&e.pullNumber)
		case 1:
			return w.stringOr(&e.title)
		case 2:
			return strs(w, loginMembers, &e.author, &e.authorType)
		case 3:
			return w.stringOr(&e.mergeSHA)
		case 4:
			return strs(w, branchMembers[:1], &e.headRef)
		case 5:
			return strs(w, branchMembers, &e.baseRef, &e.baseSHA)
		default:
			e.merged = w.at < len(w.b) && w.b[w.at] == 't'
			ok := w.value()
			e.settle(ok && !e.merged && e.action.is("closed"))
			return ok && !e.stop
		}
	})
}

// settle stops where it is known that the event of a pull request is no merge.
func (e *event) settle(no bool) { e.stop = no && e.kind != nil }

// strs passes an object, and keeps the strings of some members.
func strs(w *walker, members []string, kept ...*raw) bool {
	return w.object(members, func(i int) bool { return w.stringOr(kept[i]) })
}

// merge makes one of what is known. It is false where the repository, the number or the time
// is none: what is told goes into addresses and paths.
func (e *event) merge() (Merge, bool) {
	number, err := strconv.Atoi(string(e.number))
	if err != nil {
		number, err = strconv.Atoi(string(e.pullNumber))
	}
	at, bad := time.Parse(time.RFC3339, e.at.String())
	repo := e.repo.String()
	owner, name, _ := strings.Cut(repo, "/")
	if err != nil || bad != nil || number <= 0 || number > math.MaxInt32 || !isName(owner) || !isName(name) {
		return Merge{}, false
	}
	return Merge{
		ID: e.id.String(), Repo: repo, Number: number, Actor: e.actor.String(), Org: e.org.String(),
		BaseRef: e.baseRef.String(), HeadRef: e.headRef.String(), BaseSHA: commit(e.baseSHA), MergeSHA: commit(e.mergeSHA),
		Title: e.title.String(), Author: e.author.String(), AuthorType: e.authorType.String(), At: at.UTC(),
	}, true
}

// isName tells whether an owner or a repository can be called so.
func isName(name string) bool {
	return name != "" && len(name) <= 100 && strings.Trim(name, ".") != "" && strings.Trim(name, letters+"0123456789._-") == ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// commit returns the name of a commit, "" if it is none.
func commit(r raw) string {
	sha := r.String()
	if len(sha) != 40 && len(sha) != 64 || strings.Trim(sha, "0123456789abcdef") != "" {
		return ""
	}
	return sha
}

// boring tells from the first bytes of a line, or of a part of it, that it is an event of
// another kind. False means that one has to look: the line is too short or begins otherwise.
func boring(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(`{"id":"`))
	if !ok {
		return false
	}
	digits := 0
	for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
		digits++
	}
	if rest, ok = bytes.CutPrefix(rest[digits:], []byte(`","type":"`)); !ok {
		return false
	}
	length := 0
	for length < len(rest) && ('a' <= rest[length]|0x20 && rest[length]|0x20 <= 'z') {
		length++
	}
	return length < len(rest) && rest[length] == '"' && string(rest[:length]) != "PullRequestEvent"
}
