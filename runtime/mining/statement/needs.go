package statement

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/mining/statement/code"
)

// Bounds of what is taken for a name, a message or a constant, in bytes.
const (
	minWord    = 3
	minPart    = 8   // of a message that is found within another
	maxLiteral = 300 // of one that can be asked for
)

// Needs returns what nobody can know who has only the base and a text: the names, messages
// and constants that the hidden tests use, that the source patch brings, and that are
// neither in the base nor in the text; sorted. Names and numbers have to stand as whole
// words, messages anywhere. inBase says which of such words and messages are in the base;
// its error is returned as it is. Patches in languages that are not read need nothing.
func Needs(sourcePatch, testPatch []byte, inBase func(words []string) (map[string]bool, error), text string) ([]string, error) {
	made, used := introduced(code.Files(sourcePatch)), tested(code.Files(testPatch))
	var open []string
	known := wordsOf(text)
	for need := range used.matching(made) {
		if !known.hold(need) {
			open = append(open, need)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	slices.Sort(open)
	there, err := inBase(open)
	if err != nil {
		return nil, fmt.Errorf("look for %d words in the base: %w", len(open), err)
	}
	var needs []string
	for _, word := range open {
		if !there[word] {
			needs = append(needs, word)
		}
	}
	return needs, nil
}

// brought is what a source patch brings.
type brought struct {
	words   map[string]bool // that are used or defined
	defined map[string]bool
	stems   map[string]bool // what files that are new are called by
	texts   map[string]bool
	numbers map[string]bool
}

func introduced(files []code.File) brought {
	b := brought{words: map[string]bool{}, defined: map[string]bool{}, stems: map[string]bool{}, texts: map[string]bool{}, numbers: map[string]bool{}}
	for _, f := range files {
		language := code.LanguageOf(f.Name)
		if language == "" {
			continue
		}
		n := f.Names(true)
		for word, use := range n.Used {
			if !use.Rooted {
				b.words[word] = true
			}
		}
		for _, names := range []map[string]bool{n.Variables, n.Members} {
			for name := range names {
				b.words[name], b.defined[name] = true, true
			}
		}
		for _, t := range n.Texts {
			b.texts[longestLine(t.Value)] = true
		}
		maps.Copy(b.numbers, n.Numbers)
		if f.Fresh && language != code.Go { // Go's files have no names to others
			b.stems[stem(f.Name)] = true
		}
	}
	return b
}

// stem is what a module is called by: its file's name, or its folder's.
func stem(name string) string {
	base := path.Base(name)
	base, _, _ = strings.Cut(base, ".")
	switch base {
	case "index", "__init__", "mod", "lib", "main":
		return path.Base(path.Dir(name))
	}
	return base
}

// wanted is what hidden tests use and do not define.
type wanted struct {
	words   map[string]code.Use
	texts   map[string]bool
	paths   map[string]bool // of what they import
	numbers map[string]bool
}

func tested(files []code.File) wanted {
	w := wanted{words: map[string]code.Use{}, texts: map[string]bool{}, paths: map[string]bool{}, numbers: map[string]bool{}}
	members := map[string]bool{}
	names := make([]code.Names, 0, len(files))
	for _, f := range files {
		n := f.Names(false)
		names = append(names, n)
		maps.Copy(members, n.Members)
		if f.Fresh {
			members[stem(f.Name)] = true
		}
	}
	for _, n := range names {
		for word, use := range n.Used {
			if members[word] || n.Variables[word] && !use.Attached {
				continue
			}
			was, seen := w.words[word]
			w.words[word] = code.Use{Attached: was.Attached || use.Attached, Rooted: use.Rooted && (was.Rooted || !seen)}
		}
		for _, t := range n.Texts {
			w.texts[longestLine(t.Value)] = true
			if plain := unpattern(t.Value); plain != t.Value {
				w.texts[longestLine(plain)] = true
			}
		}
		for _, at := range n.Paths {
			w.paths[at] = true
		}
		maps.Copy(w.numbers, n.Numbers)
	}
	return w
}

// matching is what both have.
func (w wanted) matching(b brought) map[string]bool {
	found := map[string]bool{}
	for word, use := range w.words {
		if len(word) < minWord {
			continue
		}
		// Some names are made from strings, and some are asked for by strings.
		if b.defined[word] || b.words[word] && !use.Rooted || b.stems[word] || b.texts[word] && use.Attached {
			found[word] = true
		}
	}
	for number := range w.numbers {
		if b.numbers[number] && telling(number) {
			found[number] = true
		}
	}
	for at := range w.paths {
		b.leads(at, found)
	}
	pool := newPool(b.texts)
	for i, text := range slices.Sorted(maps.Keys(w.texts)) {
		if b.defined[text] && len(text) >= minWord {
			found[text] = true
		}
		b.leads(text, found)
		if part := pool.shared(text, i < maxTexts); part != "" {
			found[part] = true
		}
	}
	return found
}

// leads finds what is new in a path or in the full name of a type.
func (b brought) leads(text string, found map[string]bool) {
	if len(text) > maxLiteral || !strings.ContainsAny(text, "/.") {
		return
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c != '-' && !wordPart(c) }) {
		if b.stems[part] && len(part) >= minWord {
			found[part] = true
		}
	}
}

// telling tells a number that nobody hits upon: one of four digits, or of three with a
// point among them.
func telling(number string) bool {
	digits := strings.Count(number, "") - 1 - strings.Count(number, ".") - strings.Count(number, "_")
	return digits >= 4 || digits >= 3 && strings.Contains(number, ".")
}

// placeholder is what is filled in when a message is made.
var placeholder = regexp.MustCompile(`\$\{[^}]*\}|\{[^{}]*\}|%[-+ #0]*[0-9.*]*[a-zA-Z]|%%`)

// pool is the messages that a source patch brings, and their parts that never change.
type pool struct {
	whole map[string]bool
	all   string // of them, to look for parts of them
	parts []string
}

// Bounds of what is looked for parts of messages. More is data.
const (
	maxPool  = 64 << 10 // bytes of all messages
	maxParts = 1000
	maxTexts = 5000 // literals of tests
)

func newPool(texts map[string]bool) pool {
	p := pool{whole: texts}
	size := 0
	var all []string
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if size += len(text); size > maxPool {
			break
		}
		all = append(all, text)
		for _, part := range placeholder.Split(text, -1) {
			part = strings.TrimFunc(part, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
			if part != text && len(part) >= minPart && len(p.parts) < maxParts {
				p.parts = append(p.parts, part)
			}
		}
	}
	p.all = strings.Join(all, "\n")
	return p
}

// shared is what a literal of a test has of a message, "" = nothing. Without parts only the
// same message counts.
func (p pool) shared(text string, parts bool) string {
	if !speaks(text) {
		return ""
	}
	if p.whole[text] || parts && len(text) >= minPart && strings.Contains(p.all, text) {
		return text
	}
	if !parts {
		return ""
	}
	longest := ""
	for _, part := range p.parts {
		if len(part) > len(longest) && strings.Contains(text, part) {
			longest = part
		}
	}
	return longest
}

// speaks tells a literal that may be asked for: it has a letter or a digit, and is not long.
func speaks(text string) bool {
	return len(text) >= minWord && len(text) <= maxLiteral && strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c)
	})
}

// longestLine is the longest line of a literal: what is looked for in a tree stands on one.
func longestLine(text string) string {
	longest := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) > len(longest) {
			longest = line
		}
	}
	return longest
}

// unpattern is the text that a regular expression stands for, if it is a plain one.
func unpattern(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$")
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && unicode.IsPunct(rune(text[i+1])) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// wording is a text to look for words and messages in.
type wording struct {
	words map[string]bool
	plain string // with single spaces
}

// wordPart tells what words are made of.
func wordPart(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func wordsOf(text string) wording {
	w := wording{words: map[string]bool{}, plain: plain(text)}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return !wordPart(c) }) {
		w.words[word] = true
	}
	return w
}

// hold tells whether a text names what is needed: a word as a whole word, anything else as
// it is.
func (w wording) hold(need string) bool {
	if !strings.ContainsFunc(need, func(c rune) bool { return !wordPart(c) }) {
		return w.words[need]
	}
	return strings.Contains(w.plain, plain(need))
}

// plain has single spaces for all white space.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }
