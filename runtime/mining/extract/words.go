package extract

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is how long a file may be that is searched, in bytes; a longer one is data.
const maxText = 4 << 20

// Has says of each word whether it stands anywhere at a commit, in text or in the name of a
// file. A word of letters, digits and underscores has to stand by itself, anything else only
// has to be there.
func (r *Repositories) Has(ctx context.Context, repo, commit string, words []string) (map[string]bool, error) {
	var found map[string]bool
	err := r.use(ctx, repo, func(c *clone) error {
		found = map[string]bool{}
		leaves, err := c.tree(ctx, commit)
		if err != nil {
			return err
		}
		s := search{found: found}
		for _, w := range words {
			if _, known := found[w]; !known && w != "" {
				s.open = append(s.open, w)
			}
			found[w] = w == ""
		}
		if err := c.search(ctx, commit, leaves, &s); !errors.Is(err, errEnough) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// search looks for words in the names and then in the content of files.
func (c *clone) search(ctx context.Context, commit string, leaves []leaf, s *search) error {
	seen := map[string]bool{}
	var ids []string
	for _, l := range leaves {
		s.in([]byte(l.name))
		if !seen[l.id] && l.mode != linkMode {
			seen[l.id] = true
			ids = append(ids, l.id)
		}
	}
	if len(s.open) == 0 {
		return nil
	}
	if err := c.fill(ctx, nil, commit); err != nil {
		return err
	}
	sizes, err := c.sizes(ctx, ids)
	if err != nil {
		return err
	}
	short := ids[:0]
	for _, id := range ids {
		if sizes[id] <= maxText {
			short = append(short, id)
		}
	}
	// A large tree is more than a command may print otherwise.
	c.git = c.git.Printing(1 << 40)
	return c.blobs(ctx, short, func(_ string, content []byte) error {
		if isText(content) {
			s.in(content)
		}
		if len(s.open) == 0 {
			return errEnough
		}
		return nil
	})
}

// search are the words that are still looked for.
type search struct {
	open  []string
	found map[string]bool
}

// in looks through a text.
func (s *search) in(text []byte) {
	open := s.open[:0]
	for _, w := range s.open {
		if stands(text, w) {
			s.found[w] = true
		} else {
			open = append(open, w)
		}
	}
	s.open = open
}

// stands reports whether a word stands in a text.
func stands(text []byte, word string) bool {
	alone := strings.IndexFunc(word, func(r rune) bool { return !isWord(r) }) < 0
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(word))
		if at < 0 {
			return false
		}
		begin, end := from+at, from+at+len(word)
		before, _ := utf8.DecodeLastRune(text[:begin])
		after, _ := utf8.DecodeRune(text[end:])
		if !alone || !(begin > 0 && isWord(before)) && !(end < len(text) && isWord(after)) {
			return true
		}
		from = begin + 1
	}
}

func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
