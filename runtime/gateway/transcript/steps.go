package transcript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/truncate"
)

// Step is an exchange as people read it: what the agent told the model, and what the model said.
type Step struct {
	N         int // of the exchange, from 1
	Time      time.Time
	Model     string
	Messages  []Message // what is new in the request
	Answered  bool      // there is an answer, whatever it is
	Error     string    // why the model said nothing, or not all
	Text      string
	Reasoning string
	Calls     []Call
	Tokens    Tokens
	Millis    int64
}

// Bytes is how much text a step has.
func (s Step) Bytes() (n int) {
	n = len(s.Error) + len(s.Text) + len(s.Reasoning)
	for _, m := range s.Messages {
		n += len(m.Text)
	}
	for _, c := range s.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// Message is one that an agent sent.
type Message struct {
	Role string // system, user, assistant, tool
	Text string
}

// Index says where the exchanges of a transcript lie, so that a page of them is read without what comes before. It grows
// with the transcript. One goroutine at a time may use it.
type Index struct {
	places []place
	of     map[int]int // places by number of the exchange
	end    int64       // of what has been read
}

// place is where an exchange lies; an offset of -1 = there is no such line.
type place struct {
	n               int
	time            time.Time
	request, answer int64
	failed          bool
	tools           []string
}

// Bounds on what is told of a transcript, of which agents write most.
const (
	maxSteps    = 200_000  // exchanges that an index knows
	maxTools    = 20       // names of tools of an exchange that it knows
	maxToolName = 100      // bytes of each
	maxMessages = 200      // messages of a step, and calls
	maxText     = 64 << 10 // bytes of a text
	maxCallName = 1000     // bytes
	maxStep     = 4 << 20  // bytes of a line of which the texts are told
)

// clip is a text within its bound, which says how much of it is left out.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return truncate.Valid(text, most) + fmt.Sprintf("\n… %d more bytes are in the transcript", len(text)-most)
}

// Extend reads what a transcript has got since. Where the context ends before, the next call goes on.
func (x *Index) Extend(ctx context.Context, r io.ReaderAt, size int64) error {
	if x.of == nil {
		x.of = map[int]int{}
	}
	from := x.end
	end, err := eachAt(&interruptible{ctx, io.NewSectionReader(r, from, size-from)}, func(l Line, at int64) error {
		x.note(l, from+at)
		return nil
	})
	x.end = from + end
	return err
}

// interruptible reads until the context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.Reader.Read(p)
}

func (x *Index) note(l Line, at int64) {
	i, known := x.of[l.N]
	if !known {
		if len(x.places) >= maxSteps {
			return
		}
		i = len(x.places)
		x.of[l.N] = i
		x.places = append(x.places, place{n: l.N, time: l.Time, request: -1, answer: -1})
	}
	p := &x.places[i]
	if l.Request != nil {
		p.request, p.time = at, l.Time
	}
	if a := l.Response; a != nil {
		p.answer, p.failed = at, a.Error != "" || a.Denied != "" || a.Broken != "" || a.Status >= 400
		if a.Reply != nil {
			for _, c := range a.Reply.Calls[:min(maxTools, len(a.Reply.Calls))] {
				p.tools = append(p.tools, strings.Clone(c.Name[:min(maxToolName, len(c.Name))]))
			}
		}
	}
}

// End is how many bytes of the transcript are read.
func (x *Index) End() int64 { return x.end }

// Len is how many exchanges there are.
func (x *Index) Len() int { return len(x.places) }

// From is the first exchange that began at a moment or later; Len = there is none.
func (x *Index) From(at time.Time) int {
	if i := slices.IndexFunc(x.places, func(p place) bool { return !p.time.Before(at) }); i >= 0 {
		return i
	}
	return len(x.places)
}

// Matching are the places, from one on and at most limit, of exchanges that called a tool, "" being any, or that failed,
// where that is asked for; and the place behind which to go on, or Len.
func (x *Index) Matching(from, limit int, tool string, failed bool) (found []int, next int) {
	for i := max(0, from); i < len(x.places); i++ {
		p := &x.places[i]
		if tool != "" && !slices.Contains(p.tools, tool) || failed && !p.failed {
			continue
		}
		if len(found) == limit {
			return found, i
		}
		found = append(found, i)
	}
	return found, len(x.places)
}

// Read reads the exchange at a place.
func (x *Index) Read(r io.ReaderAt, i int) (s Step, err error) {
	if i < 0 || i >= len(x.places) {
		return s, fmt.Errorf("read exchange %d of %d", i+1, len(x.places))
	}
	p := x.places[i]
	s = Step{N: p.n, Time: p.time}
	var request, answer Line
	large, err := lineAt(r, p.request, x.end, &request)
	if err == nil {
		_, err = lineAt(r, p.answer, x.end, &answer)
	}
	if err != nil {
		return s, fmt.Errorf("read exchange %d: %w", p.n, err)
	}
	if large {
		s.Messages = []Message{{"system", fmt.Sprintf("the request has more than %d MiB; it is in the transcript", maxStep>>20)}}
	}
	s.Answered = p.answer >= 0
	if q := request.Request; q != nil {
		s.Model = clip(q.Model, maxCallName)
		for _, raw := range q.New {
			s.Messages = append(s.Messages, messagesOf(read(q.Protocol, raw))...)
			if len(s.Messages) > maxMessages {
				s.Messages = append(s.Messages[:maxMessages], Message{"system", "more messages are in the transcript"})
				break
			}
		}
	}
	if a := answer.Response; a != nil {
		s.answered(*a)
	}
	return s, nil
}

// lineAt reads the line that begins at an offset; at -1 there is none. Of one that is too large nothing is read.
func lineAt(r io.ReaderAt, at, end int64, l *Line) (large bool, err error) {
	if at < 0 {
		return false, nil
	}
	text, err := bufio.NewReaderSize(io.NewSectionReader(r, at, min(end-at, maxStep)), 64<<10).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, json.Unmarshal(text, l)
}

func (s *Step) answered(a Response) {
	s.Tokens, s.Millis = a.Tokens, a.Millis
	for _, why := range []string{a.Error, a.Denied, a.Broken} {
		if s.Error == "" {
			s.Error = clip(why, maxText)
		}
	}
	if a.Model != "" {
		s.Model = clip(a.Model, maxCallName)
	}
	if a.Reply != nil {
		s.Text, s.Reasoning = clip(a.Reply.Text, maxText), clip(a.Reply.Reasoning, maxText)
		for _, c := range a.Reply.Calls[:min(maxMessages, len(a.Reply.Calls))] {
			s.Calls = append(s.Calls, Call{c.ID, clip(c.Name, maxCallName), clip(c.Arguments, maxText)})
		}
	}
}

// messagesOf are the texts of a message, that of each tool by itself.
func messagesOf(s said) (all []Message) {
	if s.call != nil {
		return nil // the answer before has it
	}
	if s.text != "" {
		all = append(all, Message{clip(s.role, maxToolName), clip(s.text, maxText)})
	}
	for _, r := range s.results[:min(maxMessages, len(s.results))] {
		all = append(all, Message{"tool", clip(r.text, maxText)})
	}
	return all
}
