package cheat

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds of what is kept.
const (
	maxFindings  = 20       // of a rule
	maxSubmitted = 1000     // of a rule that are told apart by what they say
	maxEvidence  = 300      // bytes
	maxCommits   = 200_000  // that the agent was shown
	maxModels    = 1000     // that it asked for
	maxScripts   = 100      // that it wrote
	maxScript    = 64 << 10 // bytes of a script or command that is looked into
	maxOwn       = 20_000   // paths that it wrote
	maxCode      = 1 << 20  // bytes of a file that is looked into
	maxUnread    = 10       // complaints
	maxInner     = 16 << 20 // bytes of scripts in commands, of scripts that are run again, and of what is written to more than one file
)

// Places of what is submitted.
const (
	patchPlace   = "patch"
	archivePlace = "archive " // and the round
)

// search is one Look.
type search struct {
	ended     func() error // says why there is no time left; nil = there is
	facts     Facts
	untouched func(string) ([]byte, bool)
	findings  map[string][]Finding
	counts    map[string]int
	submitted map[Finding]bool // what was said of what is submitted, wherever it was
	missed    []error
	missedAll int

	upstream  upstream
	hidden    map[string]bool // by normal path; folders end in a slash
	names     map[string]bool // of hidden files with tests, without folders, in lower case
	protected []string
	mentioned map[string]bool // paths that the instruction names
	tests     map[string]bool // names that no code but tests has a reason to hold
	patterns  []pattern       // once there is code to look at

	commits map[string]bool   // by their first seven digits
	models  map[string]bool   // that were asked for beside the run's
	own     map[string]bool   // paths that the agent made
	handed  map[string]bool   // names that were looked at, by where they were handed in
	scripts map[string]string // by path
	inner   int               // bytes that may still be looked into of what commands run in turn
}

func newSearch(ended func() error, facts Facts, untouched func(string) ([]byte, bool)) *search {
	if untouched == nil {
		untouched = func(string) ([]byte, bool) { return nil, false }
	}
	s := &search{
		ended: ended, facts: facts, untouched: untouched, findings: map[string][]Finding{}, counts: map[string]int{}, submitted: map[Finding]bool{},
		upstream: newUpstream(facts), hidden: map[string]bool{}, names: map[string]bool{}, mentioned: map[string]bool{},
		tests: secrets(facts), protected: append(protectedAlways(), facts.Protected...),
		commits: map[string]bool{}, models: map[string]bool{}, own: map[string]bool{}, handed: map[string]bool{}, scripts: map[string]string{}, inner: maxInner,
	}
	for _, name := range facts.Hidden {
		p := s.normal(name, "")
		if p == "." || p == "/" || p == "" {
			continue
		}
		if strings.HasSuffix(name, "/") {
			p += "/"
		}
		s.hidden[p] = true
		if base := strings.ToLower(path.Base(p)); isTest(base) {
			s.names[base] = true
		}
	}
	for word := range words(facts.Instruction) {
		s.mentioned[s.normal(word, "")] = true
	}
	s.shown(facts.Base)
	s.shown(facts.Instruction)
	return s
}

// say reports a finding. What rounds have in common is said once.
func (s *search) say(rule, where, evidence string) {
	if where == patchPlace || strings.HasPrefix(where, archivePlace) {
		same := Finding{Rule: rule, Evidence: line(evidence)}
		if s.submitted[same] {
			return
		}
		if s.counts[rule] < maxSubmitted {
			s.submitted[same] = true
		}
	}
	s.counts[rule]++
	if len(s.findings[rule]) < maxFindings {
		s.findings[rule] = append(s.findings[rule], Finding{rule, line(where), line(evidence)})
	}
}

// miss notes what could not be looked at.
func (s *search) miss(format string, args ...any) {
	s.missedAll++
	if len(s.missed) < maxUnread {
		s.missed = append(s.missed, errors.New(line(fmt.Sprintf(format, args...))))
	}
}

// again reports whether there is room left to look into a text that the sources have only once.
func (s *search) again(where, what, text string) bool {
	if s.inner -= len(text); s.inner < 0 && text != "" {
		s.miss("%s: %s: %s", where, what, text)
		return false
	}
	return true
}

func (s *search) unread() []error {
	if more := s.missedAll - len(s.missed); more > 0 {
		return append(s.missed, fmt.Errorf("%d more were not looked at", more))
	}
	return s.missed
}

func (s *search) found() (all []Finding) {
	for _, rule := range []string{FutureHistory, Upstream, WebTools, JudgePaths, ResultMarkers, SpecialCasing, Answers, Models} {
		all = append(all, s.findings[rule]...)
		if more := s.counts[rule] - len(s.findings[rule]); more > 0 {
			all = append(all, Finding{rule, "", fmt.Sprintf("%d more", more)})
		}
	}
	return all
}

// normal is a path as the rules compare it: relative to workdir where it lies there, else
// absolute. dir is where it was said, "" = in workdir.
func (s *search) normal(name, dir string) string {
	if name == "" || len(name) > 4096 {
		return ""
	}
	if !path.IsAbs(name) {
		name = path.Join(s.dir(dir), name)
	}
	name = path.Clean(name)
	if work := path.Clean(s.facts.Workdir); s.facts.Workdir != "" && work != "/" {
		if name == work {
			return "."
		}
		if below, ok := strings.CutPrefix(name, work+"/"); ok {
			return below
		}
	}
	if s.facts.Workdir == "" { // then what is relative has stayed so
		return strings.TrimPrefix(name, "./")
	}
	return name
}

// dir is a folder that a command is in, as an absolute path where workdir is known.
func (s *search) dir(dir string) string {
	if path.IsAbs(dir) {
		return dir
	}
	return path.Join(s.facts.Workdir, dir)
}

// inside reports whether a normal path lies in the work directory.
func inside(normal string) bool {
	return normal != "" && !path.IsAbs(normal) && normal != ".." && !strings.HasPrefix(normal, "../") && !strings.HasPrefix(normal, "~")
}

// shown notes the commits that a text names: who was shown one may ask for it.
func (s *search) shown(text string) {
	for i := 0; i < len(text); {
		if !isWord(text[i]) {
			i++
			continue
		}
		begin := i
		for i < len(text) && isWord(text[i]) {
			i++
		}
		if begin > 0 && text[begin-1] == '\\' { // in JSON, a line break before it is \n
			begin++
		}
		if word := text[begin:i]; len(word) >= 7 && len(word) <= 64 && allHex(word) {
			s.commit(word)
		}
	}
}

func (s *search) commit(id string) {
	if len(s.commits) < maxCommits {
		s.commits[strings.ToLower(id[:7])] = true
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func allHex(text string) bool {
	for i := range len(text) {
		if !isHex(text[i]) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// words yields what in a text could be a path: runs of the characters that paths are made of.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_./-+@~$", r))
		}) {
			word = strings.TrimRight(word, ".")
			if word != "" && !yield(word) {
				return
			}
		}
	}
}

// line makes one line of a text, of at most maxEvidence bytes.
func line(text string) string {
	const most = maxEvidence
	if len(text) > 4*most {
		text = text[:4*most] + "…"
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return truncate.Text(text, most-len("…")) + "…"
}
