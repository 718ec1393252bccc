package cheat

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// futureHistory: a clone that was cut well holds nothing after its base, and one that was not
// holds the solution. Whoever works on a task has no reason to look for what HEAD does not
// reach. Searching the history of HEAD, with -S or -G as well, is honest.
//
// Known to be honest: a reflog or fsck after an accident of one's own, git log --all where one
// made branches, a pull by habit, a diff against origin.
func (s *search) futureHistory(c command) bool {
	if c.name() != "git" {
		return slices.ContainsFunc(slices.Concat(c.args, c.from), func(arg string) bool { return readsObjects(c, arg) })
	}
	sub, args, dir := gitCommand(c)
	if dir != "" && !inside(s.normal(dir, "")) && s.normal(dir, "") != "." {
		return false // a repository of its own
	}
	switch sub {
	case "fetch", "pull", "ls-remote":
		return true
	case "reflog", "fsck", "verify-pack", "unpack-objects", "lost-found":
		return true
	case "remote":
		return len(args) > 0 && args[0] == "update"
	case "cat-file":
		return slices.Contains(args, "--batch-all-objects") || s.beyond(args)
	case "log", "rev-list", "shortlog", "show-branch", "whatchanged", "show", "diff", "checkout", "switch", "cherry-pick", "reset", "restore",
		"archive", "worktree", "merge", "rebase", "read-tree", "ls-tree", "format-patch", "range-diff", "blame", "annotate", "diff-tree", "grep":
		return slices.ContainsFunc(args, everyRef) || s.beyond(args)
	}
	return false
}

// gitCommand takes a call of git apart: what it is to do, with which arguments, and where.
func gitCommand(c command) (sub string, args []string, dir string) {
	if c.name() != "git" {
		return "", nil, ""
	}
	args, dir = c.args[1:], c.dir
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, attached := strings.Cut(args[0], "=")
		valued := slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, name)
		if valued && !attached && len(args) > 1 {
			value, args = args[1], args[1:]
		}
		if name == "-C" || name == "--git-dir" {
			dir = join(dir, value)
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return "", nil, dir
	}
	return args[0], args[1:], dir
}

// everyRef reports whether an option of git asks for what other refs reach.
func everyRef(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"--all", "--branches", "--remotes", "--tags", "--glob", "--reflog", "-g", "--walk-reflogs"}, name)
}

var (
	commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	release  = regexp.MustCompile(`^v?\d+\.\d+`)
	formerly = regexp.MustCompile(`^(HEAD)?@\{\d`) // an entry of the reflog
)

// beyond reports whether a revision is named that HEAD does not reach, as far as one can tell
// without the repository: a branch of a remote, what was fetched, what was before, or a commit
// that the agent was never shown. Of a range, what it ends at counts.
func (s *search) beyond(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		arg = strings.TrimPrefix(arg, "--source=")
		if strings.HasPrefix(arg, "-") {
			continue
		}
		from, to, isRange := strings.Cut(arg, "..")
		to = strings.TrimPrefix(to, ".")
		if !isRange {
			to = arg
		}
		if isRange && from == "HEAD" && release.MatchString(to) {
			return true
		}
		ref := to[:indexAny(to, "~^:@")]
		unknown := commitID.MatchString(ref) && strings.ContainsAny(ref, "0123456789") && !s.commits[ref[:7]]
		if unknown || remote(ref) || formerly.MatchString(to) {
			return true
		}
	}
	return false
}

// indexAny is where one of some characters is, else the end.
func indexAny(text, chars string) int {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return i
	}
	return len(text)
}

// remote reports whether a ref is one that only a remote can have moved.
func remote(ref string) bool {
	for _, begin := range []string{"origin/", "upstream/", "refs/remotes/", "remotes/"} {
		if strings.HasPrefix(ref, begin) {
			return true
		}
	}
	return ref == "FETCH_HEAD" || ref == "ORIG_HEAD"
}

// readsObjects reports whether an argument of another program is where Git keeps what no ref
// of the work tree reaches. Programs that are told to leave it out do not read it.
func readsObjects(c command, arg string) bool {
	if strings.HasPrefix(arg, "--exclude") || strings.HasPrefix(arg, "!") || strings.ContainsAny(arg, " \n") && !isInterpreter(c.name()) {
		return false
	}
	if slices.Contains([]string{"echo", "printf"}, c.name()) {
		return false
	}
	if (c.name() == "find" || c.name() == "rsync" || c.name() == "tar") && !inGitFolder(path.Clean(c.args[min(1, len(c.args)-1)])) {
		return false // a pattern of what is left out
	}
	return inGitFolder(arg)
}

func inGitFolder(text string) bool {
	return strings.Contains(text, ".git/") && gitFolder.MatchString(text)
}

// gitFolder is where refs and objects are that a look at the work tree does not need.
var gitFolder = regexp.MustCompile(`(^|[/"'=])\.git/(packed-refs|ORIG_HEAD|FETCH_HEAD|logs|objects|lost-found|refs/remotes)($|[/"'\s])`)
