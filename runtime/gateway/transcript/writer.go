package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/transcript/values"
)

// Writer appends to one transcript. It may be used from many goroutines.
type Writer struct {
	mu    sync.Mutex
	file  *os.File
	size  int64
	limit int64
	held  []byte          // lines for which there was no room yet; they come at size
	last  int             // the last exchange
	known map[string]bool // names of conversations and shared values that the file has
	names names
}

// ErrFull says that a line is not kept, because the transcript would be beyond its bound.
var ErrFull = errors.New("the transcript has reached its bound")

// ErrHeld says that the file cannot be written now. The line waits in memory, and is written
// with the next one, or by Flush.
var ErrHeld = errors.New("the transcript waits until it can be written")

// maxWaiting bounds the lines that wait.
const maxWaiting = 16 << 20

// Create opens the transcript at path, which may grow to limit bytes. What a former daemon
// wrote there stays, but for a line that it did not finish.
func Create(path string, limit int64) (_ *Writer, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, limit: limit, known: map[string]bool{}, names: names{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("resume the transcript %s: %w", path, err), file.Close())
		}
	}()
	if w.size, err = each(file, w.learn); err != nil {
		return nil, err
	}
	return w, file.Truncate(w.size)
}

// maxKnown bounds the names that are remembered of a file. When there are as many they are
// forgotten, and what comes again stands there again.
const maxKnown = 500_000

// learn takes in a line that is there already.
func (w *Writer) learn(l Line) error {
	w.last = max(w.last, l.N)
	if len(w.known) > maxKnown {
		clear(w.known)
	}
	if r := l.Request; r != nil {
		for _, name := range []string{r.At, r.System.Name, r.Tools.Name, r.Settings.Name} {
			w.known[name] = true
		}
	}
	return nil
}

// Begin appends a request, given the fields of its body, and returns the number of the
// exchange. Where the file cannot be written the number is good all the same.
func (w *Writer) Begin(at time.Time, protocol, model string, stream bool, fields map[string]json.RawMessage) (n int, err error) {
	system, messages, settings := split(protocol, fields)
	w.mu.Lock()
	defer w.mu.Unlock()
	chain := w.names.chain(protocol, messages)
	w.last++
	r := &Request{
		Protocol: protocol, Model: model, Stream: stream, At: chain[len(messages)], New: messages,
		System: w.shared(system), Tools: w.shared(fields["tools"]), Settings: w.shared(settings),
	}
	for i := len(messages); i > 0; i-- {
		if w.known[chain[i]] {
			r.After, r.New = chain[i], messages[i:]
			break
		}
	}
	if err = w.append(Line{N: w.last, Time: at, Request: r}); err != nil && !errors.Is(err, ErrHeld) {
		return w.last, err
	}
	return w.last, errors.Join(err, w.learn(Line{N: w.last, Request: r}))
}

// End appends what came of exchange n.
func (w *Writer) End(at time.Time, n int, r Response) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(Line{N: n, Time: at, Response: &r})
}

// Flush writes what waits.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

// Close writes what waits and closes the file. What cannot be written then is lost.
func (w *Writer) Close() error { return errors.Join(w.Flush(), w.file.Close()) }

func (w *Writer) append(l Line) error {
	text, err := encode(l)
	if err != nil {
		return fmt.Errorf("encode a line of the transcript: %w", err)
	}
	before := len(w.held)
	if w.size+int64(before+len(text)) > w.limit {
		return ErrFull
	}
	w.held = append(w.held, text...)
	err = w.flush()
	switch {
	case err == nil:
		return nil
	case len(w.held) > maxWaiting:
		w.held = w.held[:before]
		return err
	}
	return fmt.Errorf("%w: %w", ErrHeld, err)
}

func (w *Writer) flush() error {
	if len(w.held) == 0 {
		return nil
	}
	err := fault.Err(fault.WriteTranscript)
	if err == nil {
		_, err = w.file.WriteAt(w.held, w.size)
	}
	if err != nil {
		_ = w.file.Truncate(w.size) // a part may be there; what comes next overwrites it in any case
		return fmt.Errorf("write the transcript: %w", err)
	}
	w.size += int64(len(w.held))
	w.held = nil
	return nil
}

// encode writes JSON and a line feed, with code as it is: without HTML in mind.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return text.Bytes(), err
}

func (w *Writer) shared(value json.RawMessage) Shared {
	if len(value) == 0 {
		return Shared{}
	}
	s := Shared{Name: nameOf("", value)}
	if !w.known[s.Name] {
		s.Value = value
	}
	return s
}

// split takes a request apart: what the model is told beforehand, the conversation, and all
// else but the tools.
func split(protocol string, fields map[string]json.RawMessage) (system json.RawMessage, messages []json.RawMessage, settings json.RawMessage) {
	conversation, before := "messages", "system"
	if protocol == Responses {
		conversation, before = "input", "instructions"
	}
	raw := fields[conversation]
	array := values.Elements(raw, func(message []byte) bool {
		messages = append(messages, message)
		return true
	})
	if !array && len(raw) > 0 && string(raw) != "null" {
		messages = []json.RawMessage{raw} // a plain text, or what is wrong
	}
	rest := map[string]json.RawMessage{}
	for name, value := range fields {
		if name != conversation && name != before && name != "tools" {
			rest[name] = value
		}
	}
	settings, _ = json.Marshal(rest) // of valid JSON
	return fields[before], messages, settings
}

// maxLine bounds a line that is read: a request of the size that the gateway takes, and what
// is around it.
const maxLine = 192 << 20

// each is eachAt for whom it does not matter where lines begin.
func each(r io.Reader, f func(Line) error) (end int64, err error) {
	return eachAt(r, func(l Line, _ int64) error { return f(l) })
}

// eachAt calls f with each whole line and where it begins, and returns where the last one ends. A line
// that is no JSON is passed over: a machine that lost its power may leave one.
func eachAt(r io.Reader, f func(l Line, at int64) error) (end int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return end, nil // what is left is no whole line
		case err != nil:
			return end, err
		case len(text) > maxLine:
			return end, fmt.Errorf("a line has %d bytes", len(text))
		}
		at := end
		end += int64(len(text))
		var l Line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		if err := f(l, at); err != nil {
			return end, err
		}
	}
}
