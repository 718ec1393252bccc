package statement

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/statement/code"
	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds of what is looked for.
const (
	minTest     = 8  // bytes of a test's name that means nothing else
	minSentence = 20 // bytes of one that is written as a sentence
	minLine     = 16 // bytes of a line that is the solution's own
	minRun      = 30 // bytes of lines that follow each other
	maxOffences = 20 // that are told
	maxShown    = 200
)

// Check says in words what a text has that a statement must not have: lines of the
// solution, names and files of tests (but what a test is called in words that the pull
// request itself uses), the number of the pull request, links to it, and
// commits. None is a text without offence. Declarations and lone literals of the solution
// are no offence: they are what an interface is made of.
func Check(text string, m Material) []string {
	c := checker{text: text, wording: wordsOf(text), public: strings.ToLower(plain(m.Title + "\n" + m.Body))}
	c.lower = strings.ToLower(c.wording.plain)
	c.references(m)
	c.tests(m)
	c.solution(m.SourcePatch)
	return c.offences
}

type checker struct {
	text     string
	wording  wording
	lower    string // the wording in lower case
	public   string // what the pull request says of itself, in lower case
	offences []string
	said     map[string]bool
}

func (c *checker) say(format string, values ...any) {
	offence := fmt.Sprintf(format, values...)
	if len(c.offences) < maxOffences && !c.said[offence] {
		if c.said == nil {
			c.said = map[string]bool{}
		}
		c.said[offence] = true
		c.offences = append(c.offences, offence)
	}
}

var (
	link       = regexp.MustCompile(`(?i)\b(?:https?://|www\.)?[\w.-]+\.[a-z]{2,}(?::\d+)?/[\w.-]+/[\w./-]+?/(?:-/)?(?:pull|pulls|merge_requests|commit|commits|compare)/[\w.-]+`)
	pullNumber = regexp.MustCompile(`(?i)\b(?:pull request|pull-request|merge request|pull/|PR)[ \t]*[-/:]?[ \t]*(?:no\.?|number)?[ \t]*[#!]?[ \t]*([0-9]{1,9})\b`)
	commitName = regexp.MustCompile(`\b[0-9a-f]{40}\b|(?i:\b(?:commit|revision|sha)\s+)[0-9a-f]{7,40}\b`)
)

// references looks for what leads to the change itself.
func (c *checker) references(m Material) {
	for _, at := range link.FindAllString(c.text, maxOffences) {
		c.say("it links to a change: %s", shown(at))
	}
	for _, at := range pullNumber.FindAllString(c.text, maxOffences) {
		c.say("it names a pull request: %s", shown(at))
	}
	number := strconv.Itoa(m.Number)
	if m.Number > 0 && (holdsNumber(c.text, "#"+number) || holdsNumber(c.text, "!"+number) || holdsNumber(strings.ToUpper(c.text), "GH-"+number)) {
		c.say("it has the number of the pull request: #%s", number)
	}
	lower := strings.ToLower(c.text)
	if repo := strings.ToLower(m.Repo); repo != "" && (strings.Contains(lower, repo+"/issues/") || strings.Contains(lower, repo+"/pull")) {
		c.say("it links to the discussion at %s", m.Repo)
	}
	for _, at := range commitName.FindAllString(c.text, maxOffences) {
		c.say("it names a commit: %s", shown(at))
	}
	for _, commit := range m.Commits {
		if len(commit) >= 7 && strings.Contains(lower, strings.ToLower(commit[:7])) {
			c.say("it names a commit: %.7s", commit)
		}
	}
}

// holdsNumber tells whether a text has a number that does not go on.
func holdsNumber(text, number string) bool {
	for {
		i := strings.Index(text, number)
		if i < 0 {
			return false
		}
		text = text[i+len(number):]
		if text == "" || text[0] < '0' || text[0] > '9' {
			return true
		}
	}
}

// tests looks for names of tests and of their files.
func (c *checker) tests(m Material) {
	files := code.Files(m.TestPatch)
	inSource := wordsOf(string(m.SourcePatch)).words
	for _, name := range m.TestNames {
		for _, part := range parts(name) {
			c.test(part, inSource)
		}
	}
	for _, f := range files {
		for _, name := range f.TestNames() {
			c.test(name, inSource)
		}
		base := path.Base(f.Name)
		if strings.Contains(f.Name, "/") && len(f.Name) >= minTest && strings.Contains(c.text, f.Name) {
			c.say("it names the test file %s", shown(f.Name))
		} else if len(base) >= minTest && code.LanguageOf(base) != "" && testWord(strings.TrimSuffix(base, path.Ext(base))) && strings.Contains(c.text, base) {
			c.say("it names the test file %s", shown(base))
		}
	}
}

// parts are the names in the id of a test: of its groups and of itself, as a whole and
// without what it is given.
func parts(id string) (names []string) {
	if file, rest, ok := strings.Cut(id, "::"); ok && code.LanguageOf(file) != "" {
		id = rest
	}
	names = append(names, id)
	for _, piece := range strings.FieldsFunc(id, func(c rune) bool { return c == ':' || c == '>' || c == '/' || c == '\n' }) {
		piece = strings.TrimSpace(piece)
		bare, _, _ := strings.Cut(piece, "[")
		bare, _, _ = strings.Cut(bare, "(")
		names = append(names, piece)
		names = append(names, strings.FieldsFunc(bare, func(c rune) bool { return c == '.' || c == '#' || c == ' ' })...)
	}
	return names
}

// test looks for one name. One that looks like any other counts only if the solution does
// not use it.
func (c *checker) test(name string, inSource map[string]bool) {
	if strings.ContainsFunc(name, func(r rune) bool { return !wordPart(r) }) {
		sentence := strings.ToLower(plain(name))
		if strings.Count(sentence, " ") > 1 && len(sentence) >= minSentence && strings.Contains(c.lower, sentence) && !strings.Contains(c.public, sentence) {
			c.say("it has the name of a test: %s", shown(name))
		}
		return
	}
	if len(name) < minTest || !c.wording.words[name] || inSource[name] {
		return
	}
	if testWord(name) || compound(name) {
		c.say("it has the name of a test: %s", shown(name))
	}
}

var testish = regexp.MustCompile(`(?:^|_)(?i:tests?|spec)(?:_|$)|^[Tt]ests?[A-Z0-9]|[a-z0-9](?:Tests?|Spec)(?:$|[A-Z0-9_])|^test`)

// testWord tells whether a word says that it is a test.
func testWord(word string) bool {
	return testish.MatchString(strings.NewReplacer("-", "_", ".", "_").Replace(word))
}

// compound tells a word that is put together as programs do it.
func compound(word string) bool {
	inner := strings.TrimLeft(word, "_")
	humps := 0
	for i, c := range inner {
		if i > 0 && unicode.IsUpper(c) {
			humps++
		}
	}
	return strings.Count(strings.Trim(word, "_"), "_") > 2 || humps > 2 && strings.ToUpper(inner) != inner
}

// solution looks for lines that the source patch writes.
func (c *checker) solution(patch []byte) {
	for _, f := range code.Files(patch) {
		if code.LanguageOf(f.Name) == "" && screen.KindOf(f.Name) == screen.Docs {
			continue // what is written for people may be told to people
		}
		there := map[string]bool{}
		for _, h := range f.Hunks {
			for _, l := range h {
				if l.Kind != '+' {
					there[plain(l.Text)] = true
				}
			}
		}
		for i, speaks := range speaking(f) {
			c.hunk(f.Hunks[i], speaks, there)
		}
	}
}

// speaking are the lines of code, hunk by hunk: others are comments, or within literals. In a
// language that is not read all lines count that have anything.
func speaking(f code.File) []map[int]bool {
	all := make([]map[int]bool, len(f.Hunks))
	for i := range all {
		all[i] = map[int]bool{}
	}
	if code.LanguageOf(f.Name) == "" {
		for i, h := range f.Hunks {
			for n, l := range h {
				all[i][n] = plain(l.Text) != ""
			}
		}
		return all
	}
	for i, tokens := range f.Tokens() {
		for _, t := range tokens {
			all[i][t.Line] = true
		}
	}
	return all
}

// hunk looks for the lines of one, alone and with those that follow them. What a text has
// of them is rare, and looked at closely only then.
func (c *checker) hunk(h code.Hunk, speaks map[int]bool, there map[string]bool) {
	var run []string // lines added that follow each other
	for i, l := range h {
		line := plain(l.Text)
		if l.Kind != '+' || there[line] {
			if line != "" {
				run = nil
			}
			continue
		}
		if !speaks[i] {
			continue
		}
		if own(line) && strings.Contains(c.wording.plain, bare(line)) && !interfacial(line) {
			c.say("it has a line of the solution: %s", shown(line))
			run = nil
			continue
		}
		if run = append(run, line); len(run) > 3 {
			run = run[1:]
		}
		joined := strings.Join(run, " ")
		if len(run) == 3 && len(joined) >= minRun && strings.Contains(c.wording.plain, joined) && !slices.ContainsFunc(run, interfacial) {
			c.say("it has lines of the solution: %s", shown(joined))
		}
	}
}

// bare is a line without what ends it, which a text may leave out.
func bare(line string) string { return strings.TrimRight(line, " ;,{:") }

// own tells whether a line is so much code that nobody writes it by chance.
func own(line string) bool {
	short := bare(line)
	return len(short) >= minLine && strings.ContainsAny(short, "=()[]{};<>&|")
}

var (
	declaration = regexp.MustCompile(`^(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|async|const|unsafe|extern(?: "C")?|inline|virtual|override|declare|open|data|sealed|readonly|@\w+(?:\([^)]*\))?) )*(?:def|func|fn|function\*?|class|struct|enum|trait|interface|type|record|fun|namespace|module|mod|typedef|#define)\b`)
	imports     = regexp.MustCompile(`^(?:import|from|use|pub use|#include|package|using|require|export \{|export \*)\b`)
	method      = regexp.MustCompile(`^(?:(?:public|private|protected|internal|static|final|abstract|async|virtual|override|const|inline|synchronized|get|set) )+[\w<>\[\],.?&*: ]*\w+\([^;]*(?:\{|;|\)|throws .*)$`)
	prototype   = regexp.MustCompile(`^[\w<>:,&* ]+ [&*]*\w+\((?:[\w<>:,&*\[\] ]*)\)(?: const)?(?: noexcept)?(?: override)?[;{]?$`)
	constant    = regexp.MustCompile("^(?:(?:export|pub|public|private|static|final|const|let|var|readonly|constexpr|int|long|String|string|auto|double|float|bool|boolean|char) )*[\\w.]+(?:\\s*:\\s*[\\w&'<>\\[\\]. ]+)?\\s*(?::=|=|:)\\s*" + literal + `\s*[,;]?$`)
	arrow       = regexp.MustCompile(`^(?:export )?(?:default )?const \w+ = (?:async )?\([^)]*\)(?:: [^=]+)? =>(?: \{)?$`)
	lone        = regexp.MustCompile(`^(?:\*{0,2}\w+(?:\s*:\s*[\w\[\], .|]+)?\s*[:=]\s*)?` + literal + `\s*[,;)\]}]*(?:\s*->\s*[\w\[\], .|]+)?\s*[:{]?$`)
	field       = regexp.MustCompile(`^(?:(?:pub|public|private|readonly|final) )*\w+\??\s*:?\s*[\w&'<>\[\].*?| ]+[,;]?(?: ` + "`[^`]*`" + `)?$`)
)

// deed matches a line that does something.
var deed = regexp.MustCompile(`\breturn\b|^(?:throw|raise|await|delete|new|yield|defer|go|else|elif|if|while|for|switch|match|case|catch|except|with|assert|not|and|or|do|try|print|del|goto|loop|unless)\b`)

// literal matches one value that is written out.
const literal = "(?:[a-zA-Z]{0,2}\"(?:[^\"\\\\]|\\\\.)*\"|[a-zA-Z]{0,2}'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|-?[0-9][\\w.]*|true|false|True|False|None|null|nil)"

// interfacial tells a line that says what there is, and not how it works.
func interfacial(line string) bool {
	if deed.MatchString(line) {
		return false
	}
	for _, form := range []*regexp.Regexp{declaration, imports, method, prototype, constant, arrow, lone, field} {
		if form.MatchString(line) {
			return !body(line)
		}
	}
	return false
}

// body tells whether a declaration goes on with what it does, in the same line.
func body(line string) bool {
	_, rest, ok := strings.Cut(line, "{")
	if rest = strings.TrimSpace(rest); ok && rest != "" && rest != "}" && strings.ContainsAny(rest, "(=;") {
		return !imports.MatchString(line)
	}
	_, rest, ok = strings.Cut(line, "): ")
	return ok && strings.HasPrefix(line, "def ") && strings.TrimSpace(rest) != "..."
}

// shown is a text in one line, bounded.
func shown(text string) string {
	return truncate.Marked(plain(strings.ToValidUTF8(text, "?")), maxShown, "…")
}
