package proof

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/mining/diff"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// looks finds the tests that look at the text of the code. They pass where the lines that the
// fix adds are there as comments beside the code that was, or fail where the fix does what it
// does with other white space. Both can go wrong in the middle of a text of many lines, which
// a diff does not show, so that nothing is tried unless the tests look as if they read sources.
func (p *prover) looks(ctx context.Context) error {
	reads, named := p.suspect()
	var variants []variant
	if reads {
		variants = append(variants, variant{p.commented(false), passed}, variant{p.commented(true), passed})
	}
	if named {
		variants = append(variants, variant{p.spaced(), failed})
	}
	variants = slices.DeleteFunc(variants, func(v variant) bool { return len(v.fix) == 0 })
	var jobs []job
	for _, v := range variants {
		jobs = append(jobs, job{p.c.Task, v.fix})
	}
	all, err := p.judge(ctx, jobs)
	if err != nil {
		return err
	}
	textual := map[string]bool{}
	for i, s := range all {
		if s.fault("") != nil {
			continue
		}
		for _, name := range p.proof.FailToPass {
			if s.way(name) == variants[i].betrays {
				textual[name] = true
			}
		}
	}
	found := slices.Sorted(maps.Keys(textual))
	if len(found) == len(p.proof.FailToPass) {
		return reason.Reject(TestsGrepSource, "%s", some(found))
	}
	// A test that did not build before and passes on comments was kept from running by others
	// of its file: it may look at anything, and it fails without the fix.
	found = slices.DeleteFunc(found, func(name string) bool { return slices.Contains(p.unbuilt, name) })
	p.drop(&p.proof.Textual, found)
	return nil
}

// variant is another fix, and how a test comes out with it that looks at text only.
type variant struct {
	fix     []byte
	betrays way
}

// commented is the fix with what it adds as comments, in lines or in blocks, and nothing taken
// away. Files for people are changed as they are: they say nothing to a machine. What is
// moved, gone or binary stays as it was.
func (p *prover) commented(blocks bool) []byte {
	var out []byte
	some := false
	for _, s := range p.files {
		if forPeople(s.Name) {
			out = append(out, s.Bytes()...)
			continue
		}
		l := languageOf(s.Name)
		if l.line == "" || s.Whole && !s.Fresh {
			continue
		}
		changed := s
		changed.Hunks = nil
		for _, h := range s.Hunks {
			if h, ok := l.asComments(h, blocks, s.Fresh); ok {
				changed.Hunks = append(changed.Hunks, h)
			}
		}
		if len(changed.Hunks) > 0 {
			out = append(out, settled(changed).Bytes()...)
			some = true
		}
	}
	if !some {
		return nil
	}
	return out
}

// asComments is a hunk that adds comments, before what it would have changed; ok is false if
// there is nothing to add.
func (l language) asComments(h diff.Hunk, blocks, fresh bool) (_ diff.Hunk, ok bool) {
	out := diff.Hunk{Old: h.Old, Behind: h.Behind}
	var kept, added []string
	made := 0
	flush := func() {
		lines := l.comments(added, blocks, fresh)
		made += len(lines)
		for _, line := range lines {
			out.Body = append(out.Body, "+"+line)
		}
		out.Body = append(out.Body, kept...)
		kept, added = nil, nil
	}
	mark := byte(' ')
	for _, line := range h.Body {
		switch line[0] {
		case '-':
			kept = append(kept, " "+line[1:])
		case '+':
			added = append(added, strings.TrimRight(line[1:], "\r\n")+"\n")
		case '\\':
			if mark == '-' {
				kept = append(kept, line)
			} else if mark != '+' {
				out.Body = append(out.Body, line)
			}
		default:
			flush()
			out.Body = append(out.Body, line)
		}
		mark = line[0]
	}
	flush()
	out.New = diff.Span{Lines: h.Old.Lines + made}
	return out, made > 0
}

// comments are lines as comments. Those without which a new file is none stay as they are.
func (l language) comments(lines []string, blocks, fresh bool) (out []string) {
	open, end := "/*\n", "*/\n"
	all := strings.Join(lines, "")
	if l.strings {
		open, end = "r'''\n", "'''\n"
		for _, line := range lines {
			if text := strings.TrimLeft(line, " \t"); strings.TrimSpace(text) != "" {
				open = line[:len(line)-len(text)] + open
				break
			}
		}
	}
	if len(lines) == 0 || strings.TrimSpace(all) == "" {
		return nil
	}
	if blocks && (l.block || l.strings) && !strings.Contains(all, strings.TrimSpace(end)) && !strings.Contains(all, "/*") {
		var first []string
		if fresh && l.keeps != "" {
			first = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, l.keeps) })
		}
		return slices.Concat(first, []string{open}, lines, []string{end})
	}
	for _, line := range lines {
		if fresh && l.keeps != "" && strings.HasPrefix(line, l.keeps) {
			out = append(out, line)
			continue
		}
		text := strings.TrimLeft(line, " \t")
		out = append(out, line[:len(line)-len(text)]+strings.TrimRight(l.line+" "+text, " \n")+"\n")
	}
	return out
}

// spaced is the fix with more space between the words that it adds; nil if there is no place
// for that.
func (p *prover) spaced() []byte {
	var out []byte
	changed := false
	for _, s := range p.files {
		l := languageOf(s.Name)
		if !l.spaces || s.Whole && !s.Fresh || multiline(s) {
			out = append(out, s.Bytes()...)
			continue
		}
		hunks := slices.Clone(s.Hunks)
		for i, h := range hunks {
			hunks[i].Body = slices.Clone(h.Body)
			for k, line := range h.Body {
				if line[0] == '+' {
					hunks[i].Body[k] = "+" + l.wider(line[1:])
					changed = changed || hunks[i].Body[k] != line
				}
			}
		}
		s.Hunks = hunks
		out = append(out, s.Bytes()...)
	}
	if !changed {
		return nil
	}
	return out
}

// multiline reports whether texts of several lines begin or end in what is shown of a file.
func multiline(s diff.File) bool {
	return slices.ContainsFunc(s.Hunks, func(h diff.Hunk) bool {
		return slices.ContainsFunc(h.Body, func(line string) bool {
			return line[0] != '\\' && several.MatchString(line)
		})
	})
}

// Where texts or comments of several lines begin or end, and texts with code in them.
var (
	several = regexp.MustCompile("\"\"\"|'''|[`\\\\]|/\\*|\\*/")
	oddText = regexp.MustCompile(`\b[fFtT][rR]?['"]|[rR][fFtT]['"]`)
)

// wider doubles the spaces of a line that stand between words of code. A line in which that
// could mean something stays as it is.
func (l language) wider(line string) string {
	text := strings.TrimLeft(line, " \t")
	if oddText.MatchString(text) || l.line == "//" && strings.ContainsAny(text, "/'#") {
		return line
	}
	var b strings.Builder
	b.WriteString(line[:len(line)-len(text)])
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(text[i:], l.line):
			b.WriteString(text[i:])
			return b.String()
		case c == ' ' && i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r':
			b.WriteByte(' ')
		}
		b.WriteByte(c)
	}
	if quote != 0 {
		return line
	}
	return b.String()
}

// What tests call to read a file, what they say to find it, and what gives them sources
// whatever these are called.
var (
	readers = regexp.MustCompile(`\bopen\(|\.read_(text|bytes)\(|\breadFile(Sync)?\(|\b(os|ioutil|fs|embed)\.(ReadFile|Open)\(|read_to_string\(|include_str!|` +
		`Files\.(readString|readAllLines|readAllBytes|lines)\(|\b(File|IO)\.(read|open|readlines|foreach)\(|file_get_contents\(|\bfopen\(|` +
		`\bast\.parse\(|\bparser\.Parse(File|Dir)\(|\bgrep\b|\bslurp\b|\blinecache\b|\bget_data\(|importlib\.resources`)
	places  = regexp.MustCompile(`__file__|__filename|__dirname|import\.meta\.(url|filename|dirname)|runtime\.Caller\(|CARGO_MANIFEST_DIR`)
	sources = regexp.MustCompile(`\*\.(py|go|js|mjs|cjs|ts|tsx|java|rs|rb|c|cc|cpp|h|php|kt|cs)\b`)
	itself  = regexp.MustCompile(`\bgetsource(lines)?\(|\binspect\.getfile\(|\.toString\(\)\.(includes|match|indexOf)\(`)
)

// suspect reports whether the hidden tests look as if they read files of the repository, and
// whether as if they read those that the fix changes.
func (p *prover) suspect() (reads, named bool) {
	for _, text := range p.tests() {
		reading := readers.MatchString(text)
		names := sources.MatchString(text) || slices.ContainsFunc(p.files, func(s diff.File) bool {
			return regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(path.Base(s.Name)) + `(\W|$)`).MatchString(text)
		})
		named = named || reading && names || itself.MatchString(text)
		reads = reads || named || reading && places.MatchString(text)
	}
	return reads, named
}

// tests are the texts of the hidden tests, of each file those that are new.
func (p *prover) tests() []string {
	texts := slices.Collect(maps.Values(p.c.Task.Judge.Files))
	files, err := diff.Read(p.c.Task.Judge.Patch)
	if err != nil {
		return texts // there is none, or it would not apply
	}
	for _, s := range files {
		var text strings.Builder
		for _, h := range s.Hunks {
			for _, line := range h.Body {
				if line[0] == '+' {
					text.WriteString(line[1:])
				}
			}
		}
		texts = append(texts, text.String())
	}
	return texts
}
