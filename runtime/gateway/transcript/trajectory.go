package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// Info is what a trajectory says of its trial.
type Info struct {
	Session string // the trial with its try
	Agent   string
	Version string
	Model   string
	Effort  string
	Extra   map[string]any
}

// WriteTrajectory makes the file named whole of the transcript in the file named from, as Trajectory does. It
// appears whole or not at all. Where there is no transcript, or no step in it, there is no file.
func WriteTrajectory(whole, from string, info Info) error {
	transcript, err := os.Open(from)
	if os.IsNotExist(err) {
		return nil // the agent never began
	}
	if err != nil {
		return err
	}
	defer func() { _ = transcript.Close() }()
	if err := fault.Err(fault.WriteTrajectory); err != nil {
		return err
	}
	partial := whole + ".partial"
	to, err := os.Create(partial)
	if err != nil {
		return err
	}
	steps, err := Trajectory(to, transcript, info)
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil || steps == 0 {
		_ = os.Remove(partial)
		return err
	}
	return os.Rename(partial, whole)
}

// Trajectory writes what a transcript tells as an ATIF v1.7 document, the format of Harbor
// and its tools, and returns how many steps it has: one for each thing said to a model and
// one for each answer. Nothing is written where there is no step. It reads the transcript
// once and holds little of it.
func Trajectory(out io.Writer, transcript io.Reader, info Info) (steps int, err error) {
	w := bufio.NewWriter(out)
	t := &trajectory{out: w, info: info, open: map[int]*Request{}, waiting: map[string]*step{}}
	if _, err := each(transcript, t.take); err != nil {
		return t.steps, fmt.Errorf("make a trajectory: %w", err)
	}
	for _, at := range t.order {
		if err := t.finish(at); err != nil {
			return t.steps, err
		}
	}
	if t.steps == 0 {
		return 0, nil
	}
	if err := t.close(); err != nil {
		return t.steps, err
	}
	return t.steps, w.Flush()
}

// trajectory is one that is being written.
type trajectory struct {
	out     *bufio.Writer
	info    Info
	steps   int
	total   Tokens
	tools   json.RawMessage
	open    map[int]*Request // exchanges whose answer is to come
	waiting map[string]*step // answers whose tools' results are to come, by their conversation
	order   []string         // of waiting, the oldest first; may name what is not there any more
	held    int              // bytes of waiting, about
}

// Bounds on what is held of a transcript: bytes of answers, and requests without one.
const (
	maxHeld = 64 << 20
	maxOpen = 100_000
)

// step is a step of ATIF.
type step struct {
	ID          int            `json:"step_id"`
	Time        string         `json:"timestamp"`
	Source      string         `json:"source"`
	Message     string         `json:"message"`
	Model       string         `json:"model_name,omitempty"`
	Effort      string         `json:"reasoning_effort,omitempty"`
	Reasoning   string         `json:"reasoning_content,omitempty"`
	Calls       []stepCall     `json:"tool_calls,omitempty"`
	Observation *observation   `json:"observation,omitempty"`
	Metrics     *metrics       `json:"metrics,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

type stepCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type observation struct {
	Results []stepResult `json:"results"`
}

type stepResult struct {
	Call    string `json:"source_call_id"`
	Content string `json:"content"`
}

type metrics struct {
	Prompt     int64          `json:"prompt_tokens"`
	Completion int64          `json:"completion_tokens"`
	Cached     int64          `json:"cached_tokens"`
	CostUSD    float64        `json:"cost_usd"`
	Extra      map[string]any `json:"extra,omitempty"`
}

// take reads the next line.
func (t *trajectory) take(l Line) error {
	switch {
	case l.Request != nil:
		return t.asked(l)
	case l.Response != nil:
		return t.answered(l)
	}
	return nil
}

// asked tells what is new in a request: the results of the tools that the last answer of the
// same conversation called, and what else was said to the model.
func (t *trajectory) asked(l Line) error {
	r := l.Request
	if len(t.open) >= maxOpen { // most of them never end
		clear(t.open)
	}
	t.open[l.N] = &Request{Model: r.Model, At: r.At}
	if t.tools == nil && isListOfObjects(r.Tools.Value) {
		t.tools = r.Tools.Value
	}
	var rest []said
	before := t.waiting[r.After]
	for _, raw := range r.New {
		s := read(r.Protocol, raw)
		for _, result := range s.results {
			if !before.observe(result) {
				rest = append(rest, said{role: "user", text: result.text})
			}
		}
		if s.role != "assistant" && s.role != "tool" && s.text != "" {
			rest = append(rest, s)
		}
	}
	if before != nil {
		if err := t.finish(r.After); err != nil {
			return err
		}
	}
	if text := textOf(r.System.Value); text != "" {
		rest = append([]said{{role: "system", text: text}}, rest...)
	}
	for _, s := range rest {
		source := "user"
		if s.role == "system" {
			source = "system"
		}
		if err := t.write(&step{Time: stamp(l.Time), Source: source, Message: s.text}); err != nil {
			return err
		}
	}
	return nil
}

// isListOfObjects tells tools from what an agent may have sent in their place.
func isListOfObjects(raw json.RawMessage) bool {
	var tools []map[string]json.RawMessage
	return json.Unmarshal(raw, &tools) == nil && tools != nil && !slices.ContainsFunc(tools, func(t map[string]json.RawMessage) bool { return t == nil })
}

// observe adds what a tool gave back to the step that called it, if this one did.
func (s *step) observe(r result) bool {
	if s == nil {
		return false
	}
	for _, c := range s.Calls {
		if c.ID == r.call {
			if s.Observation == nil {
				s.Observation = &observation{}
			}
			s.Observation.Results = append(s.Observation.Results, stepResult{r.call, r.text})
			return true
		}
	}
	return false
}

// answered keeps an answer until the results of its tools are known.
func (t *trajectory) answered(l Line) error {
	asked, r := t.open[l.N], l.Response
	delete(t.open, l.N)
	t.total.Input += r.Tokens.Input
	t.total.Cached += r.Tokens.Cached
	t.total.Output += r.Tokens.Output
	t.total.Estimated += r.Tokens.Estimated
	t.total.CostUSD += r.Tokens.CostUSD
	if asked == nil || r.Reply == nil {
		return nil
	}
	s := &step{
		Time: stamp(l.Time), Source: "agent", Message: r.Reply.Text, Model: asked.Model, Effort: t.info.Effort, Reasoning: r.Reply.Reasoning,
		Metrics: &metrics{Prompt: r.Tokens.Input, Completion: r.Tokens.Output, Cached: r.Tokens.Cached, CostUSD: r.Tokens.CostUSD},
		Extra:   map[string]any{"exchange": l.N},
	}
	if r.Tokens.Estimated > 0 {
		s.Metrics.Extra = map[string]any{"estimated_tokens": r.Tokens.Estimated}
	}
	if r.Broken != "" {
		s.Extra["broken"] = r.Broken
	}
	for _, c := range r.Reply.Calls {
		s.Calls = append(s.Calls, stepCall{c.ID, c.Name, object(c.Arguments)})
	}
	if err := t.finish(asked.At); err != nil { // the same was asked before
		return err
	}
	t.waiting[asked.At], t.order = s, append(t.order, asked.At)
	t.held += s.size()
	for t.held > maxHeld && len(t.order) > 0 { // nobody asked on from there for long
		at := t.order[0]
		t.order = t.order[1:]
		if err := t.finish(at); err != nil {
			return err
		}
	}
	return nil
}

// size is what a step holds, about.
func (s *step) size() int {
	const itself = 500
	n := itself + len(s.Message) + len(s.Reasoning)
	for _, c := range s.Calls {
		n += itself + len(c.Arguments)
	}
	return n
}

// object is the arguments of a call as the object that they must be.
func object(arguments string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) == nil && fields != nil {
		return json.RawMessage(arguments)
	}
	if arguments == "" {
		return json.RawMessage("{}")
	}
	text, _ := json.Marshal(map[string]string{"text": arguments})
	return text
}

// finish writes the answer that waits at the end of a conversation, if one does.
func (t *trajectory) finish(at string) error {
	s := t.waiting[at]
	if s == nil {
		return nil
	}
	delete(t.waiting, at)
	t.held -= s.size()
	return t.write(s)
}

func (t *trajectory) write(s *step) error {
	t.steps++
	s.ID = t.steps
	text, err := encode(s)
	if err != nil {
		return err
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	begin := ",\n"
	if t.steps == 1 {
		begin = `{"schema_version":"ATIF-v1.7","steps":[` + "\n"
	}
	if _, err := t.out.WriteString(begin); err != nil {
		return err
	}
	_, err = t.out.Write(text)
	return err
}

// close writes what follows the steps.
func (t *trajectory) close() error {
	type definitions struct {
		Name    string          `json:"name"`
		Version string          `json:"version"`
		Model   string          `json:"model_name,omitempty"`
		Tools   json.RawMessage `json:"tool_definitions,omitempty"`
	}
	type totals struct {
		Prompt     int64          `json:"total_prompt_tokens"`
		Completion int64          `json:"total_completion_tokens"`
		Cached     int64          `json:"total_cached_tokens"`
		CostUSD    float64        `json:"total_cost_usd"`
		Steps      int            `json:"total_steps"`
		Extra      map[string]any `json:"extra,omitempty"`
	}
	end := struct {
		Session string         `json:"session_id"`
		Agent   definitions    `json:"agent"`
		Final   totals         `json:"final_metrics"`
		Extra   map[string]any `json:"extra,omitempty"`
	}{
		t.info.Session,
		definitions{t.info.Agent, t.info.Version, t.info.Model, t.tools},
		totals{Prompt: t.total.Input, Completion: t.total.Output, Cached: t.total.Cached, CostUSD: t.total.CostUSD, Steps: t.steps},
		t.info.Extra,
	}
	if t.total.Estimated > 0 {
		end.Final.Extra = map[string]any{"estimated_tokens": t.total.Estimated}
	}
	text, err := encode(end)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "\n],%s", text[1:])
	return err
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
