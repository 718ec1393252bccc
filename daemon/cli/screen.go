package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is a terminal that shows text and acts on none of it. What commands print comes from
// agents, archives and models in part: all of it is escaped, and only steer moves the cursor.
type screen struct {
	w io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character, or of a line's end, that the next piece completes
}

// onScreen returns what to print to: w itself, unless it is a terminal.
func onScreen(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &screen{w: f}
	}
	return w
}

// terminal reports whether a person reads what is written to w.
func terminal(w io.Writer) bool {
	_, ok := w.(*screen)
	return ok
}

// steer sends a sequence of our own, which moves the cursor, to a terminal.
func steer(w io.Writer, sequence string) {
	if s, ok := w.(*screen); ok {
		_, _ = io.WriteString(s.w, sequence) // a terminal that is gone shows nothing
	}
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := slices.Concat(s.rest, p)
	shown := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 && !(text[0] == '\r' && len(text) == 1) && utf8.FullRune(text) {
		if text[0] == '\r' && text[1] == '\n' {
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		shown = appendShown(shown, r, text[:size])
		text = text[size:]
	}
	s.rest = append([]byte(nil), text...)
	if _, err := s.w.Write(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close shows what nothing will complete any more; the terminal stays open.
func (s *screen) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []byte
	for _, b := range s.rest {
		shown = fmt.Appendf(shown, `\x%02x`, b)
	}
	s.rest = nil
	_, err := s.w.Write(shown)
	return err
}

// appendShown appends a character that is written as these bytes, as a terminal may have it.
func appendShown(shown []byte, r rune, bytes []byte) []byte {
	switch {
	case r == '\n' || r == '\t':
		return append(shown, byte(r))
	case r == utf8.RuneError && len(bytes) == 1, r < utf8.RuneSelf && unicode.IsControl(r):
		return fmt.Appendf(shown, `\x%02x`, bytes[0])
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.In(r, unicode.Zl, unicode.Zp): // of 8 bits, or about the order of letters
		return fmt.Appendf(shown, `\u%04x`, r)
	}
	return append(shown, bytes...)
}
