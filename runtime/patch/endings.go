package patch

import (
	"bytes"
	"context"
	"io"
)

// Line ends of a file.
const (
	endsMixed = iota // or there are none
	endsLF
	endsCRLF
)

// endings gives the lines of hunks the ends that the files which they are of have, where
// these agree, and the lines around hunks the ends that Git can read. A diff that was made
// of such files on another system, or passed through one, differs in nothing else.
func (r *repository) endings(ctx context.Context, tree string, diff []byte) ([]byte, error) {
	known, err := r.endsOf(ctx, tree, diff)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(diff)+len(diff)/16)
	s := scanner{}
	ends := endsMixed
	for rest := diff; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		names, hunk := s.line(line, rest)
		if hunk {
			out = append(out, ended(line, ends, bytes.HasPrefix(rest, []byte(`\`)))...)
			continue
		}
		bare := bytes.TrimRight(line, "\r\n")
		out = append(append(out, bare...), '\n')
		if bytes.HasPrefix(line, []byte("diff --git ")) || bytes.HasPrefix(line, []byte("--- ")) {
			ends = endsMixed
			if len(line)-len(bare) > 1 { // the diff came through another system
				ends = endsLF
			}
		}
		for _, name := range names {
			if e, ok := known[name]; ok {
				ends = e
			}
		}
	}
	return out, nil
}

// ended is a line of a hunk with such an end; last says that it is to have none in the file.
func ended(line []byte, ends int, last bool) []byte {
	if ends == endsMixed || line[0] == '\\' {
		return line
	}
	bare := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if ends == endsCRLF && !last {
		return append(bare[:len(bare):len(bare)], "\r\n"...)
	}
	return append(bare[:len(bare):len(bare)], '\n')
}

// endsOf looks at the files of the tree that a diff names.
func (r *repository) endsOf(ctx context.Context, tree string, diff []byte) (map[string]int, error) {
	names, err := Paths(diff)
	if err != nil {
		return nil, err
	}
	base, err := r.list(ctx, tree)
	if err != nil {
		return nil, err
	}
	var there, ids []string
	for _, name := range names {
		if f, ok := base[name]; ok && f.mode != modeLink {
			there, ids = append(there, name), append(ids, f.id)
		}
	}
	ends := map[string]int{}
	if len(there) == 0 {
		return ends, nil
	}
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends at the latest when the reading end is closed below
		err := r.contents(ctx, ids, write)
		write.CloseWithError(err)
		done <- err
	}()
	err = eachContent(read, len(there), func(i int, _ int64, content io.Reader) (err error) {
		ends[there[i]], err = endsIn(content)
		return err
	})
	read.CloseWithError(errOver)
	if failed := <-done; err == nil {
		err = failed
	}
	return ends, err
}

// endsIn looks at the ends of all lines.
func endsIn(r io.Reader) (int, error) {
	var lf, crlf bool
	last := byte(0)
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			if c == '\n' {
				crlf, lf = crlf || last == '\r', lf || last != '\r'
			}
			last = c
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return endsMixed, err
		}
	}
	switch {
	case lf && !crlf:
		return endsLF, nil
	case crlf && !lf:
		return endsCRLF, nil
	}
	return endsMixed, nil
}
