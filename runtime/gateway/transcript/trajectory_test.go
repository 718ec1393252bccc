package transcript_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The shape of ATIF v1.7, as its readers check it: a key that is not here is an error.
type atif struct {
	Schema  string `json:"schema_version"`
	Session string `json:"session_id"`
	Agent   struct {
		Name    string           `json:"name"`
		Version string           `json:"version"`
		Model   string           `json:"model_name"`
		Tools   []map[string]any `json:"tool_definitions"`
	} `json:"agent"`
	Steps []struct {
		ID        int    `json:"step_id"`
		Time      string `json:"timestamp"`
		Source    string `json:"source"`
		Message   string `json:"message"`
		Model     string `json:"model_name"`
		Effort    string `json:"reasoning_effort"`
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			ID        string         `json:"tool_call_id"`
			Name      string         `json:"function_name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"tool_calls"`
		Observation *struct {
			Results []struct {
				Call    string `json:"source_call_id"`
				Content string `json:"content"`
			} `json:"results"`
		} `json:"observation"`
		Metrics *struct {
			Prompt     int64          `json:"prompt_tokens"`
			Completion int64          `json:"completion_tokens"`
			Cached     int64          `json:"cached_tokens"`
			USD        float64        `json:"cost_usd"`
			Extra      map[string]any `json:"extra"`
		} `json:"metrics"`
		Extra map[string]any `json:"extra"`
	} `json:"steps"`
	Final struct {
		Prompt     int64          `json:"total_prompt_tokens"`
		Completion int64          `json:"total_completion_tokens"`
		Cached     int64          `json:"total_cached_tokens"`
		USD        float64        `json:"total_cost_usd"`
		Steps      int            `json:"total_steps"`
		Extra      map[string]any `json:"extra"`
	} `json:"final_metrics"`
	Extra map[string]any `json:"extra"`
}

// valid reads a trajectory and fails where it breaks a rule of its format.
func valid(t testing.TB, text []byte) (doc atif) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if doc.Schema != "ATIF-v1.7" || len(doc.Steps) == 0 || doc.Final.Steps != len(doc.Steps) {
		t.Errorf("%q with %d steps of %d", doc.Schema, len(doc.Steps), doc.Final.Steps)
	}
	for i, s := range doc.Steps {
		if s.ID != i+1 {
			t.Errorf("step %d is number %d", i+1, s.ID)
		}
		if _, err := time.Parse(time.RFC3339Nano, s.Time); err != nil {
			t.Errorf("step %d: %v", s.ID, err)
		}
		calls := map[string]bool{}
		for _, c := range s.Calls {
			calls[c.ID] = true
			if c.Arguments == nil {
				t.Errorf("step %d: the arguments of %s are no object", s.ID, c.Name)
			}
		}
		if s.Observation != nil {
			for _, r := range s.Observation.Results {
				if !calls[r.Call] {
					t.Errorf("step %d has the result of call %q, which it did not make", s.ID, r.Call)
				}
			}
		}
		switch s.Source {
		case "agent":
		case "system", "user":
			if s.Model != "" || s.Calls != nil || s.Metrics != nil || s.Reasoning != "" || s.Effort != "" {
				t.Errorf("step %d is not of an agent: %+v", s.ID, s)
			}
		default:
			t.Errorf("step %d is of %q", s.ID, s.Source)
		}
	}
	return doc
}

// exchange writes a request and its answer, a second apart.
func exchange(t testing.TB, w *transcript.Writer, protocol string, body object, r *transcript.Response) {
	t.Helper()
	n, err := w.Begin(at, protocol, "m", true, fieldsOf(t, body))
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return
	}
	if err := w.End(at.Add(time.Second), n, *r); err != nil {
		t.Fatal(err)
	}
}

func trajectory(t testing.TB, path string) []byte {
	t.Helper()
	var out bytes.Buffer
	info := transcript.Info{
		Session: "r.e1.1/1", Agent: "mine", Version: "1.2", Model: "m", Effort: "high", Extra: map[string]any{"task": "x"},
	}
	if _, err := transcript.Trajectory(&out, open(t, path), info); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// calls is an answer that uses a tool, says is one that does not.
func calls(id, arguments string) *transcript.Response {
	return &transcript.Response{
		Status: 200, Tokens: transcript.Tokens{Input: 100, Cached: 40, Output: 10, CostUSD: 0.25},
		Reply: &transcript.Reply{Reasoning: "I look.", Calls: []transcript.Call{{ID: id, Name: "shell", Arguments: arguments}}, Stop: "tool"},
	}
}

func says(text string) *transcript.Response {
	return &transcript.Response{
		Status: 200, Tokens: transcript.Tokens{Input: 200, Output: 5, Estimated: 5, CostUSD: 0.5}, Broken: "unexpected EOF", Reply: &transcript.Reply{Text: text},
	}
}

// small is a conversation of one call in each protocol: the first request and the second.
var small = map[string][2]object{
	transcript.Completions: {
		{"tools": []object{{"type": "function", "function": object{"name": "shell"}}}, "messages": []object{
			{"role": "system", "content": "Be good."}, {"role": "user", "content": []object{{"type": "text", "text": "Look <here>."}, {"type": "image_url", "image_url": object{"url": "data:"}}}},
		}},
		{"messages": []object{
			{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "c1", "type": "function", "function": object{"name": "shell", "arguments": `{"command":"ls"}`}}}},
			{"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
		}},
	},
	transcript.Responses: {
		{"instructions": "Be good.", "tools": []object{{"type": "function", "name": "shell"}}, "input": []object{
			{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": "Look <here>."}, {"type": "input_image", "image_url": "data:"}}},
		}},
		{"input": []object{
			{"type": "reasoning", "summary": []object{{"type": "summary_text", "text": "I look."}}},
			{"type": "function_call", "call_id": "c1", "name": "shell", "arguments": `{"command":"ls"}`},
			{"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
		}},
	},
	transcript.Messages: {
		{"system": []object{{"type": "text", "text": "Be good."}}, "tools": []object{{"name": "shell", "input_schema": object{"type": "object"}}}, "messages": []object{
			{"role": "user", "content": []object{{"type": "text", "text": "Look <here>."}, {"type": "image", "source": object{"type": "base64"}}}},
		}},
		{"messages": []object{
			{"role": "assistant", "content": []object{{"type": "tool_use", "id": "c1", "name": "shell", "input": object{"command": "ls"}}}},
			{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": "c1", "content": []object{{"type": "text", "text": "a.txt"}}}, {"type": "text", "text": "Hurry up."}}},
		}},
	},
}

// conversationOf is both requests of small, the second with all of the first.
func conversationOf(protocol string) (first, second object) {
	name := "messages"
	if protocol == transcript.Responses {
		name = "input"
	}
	first, second = small[protocol][0], object{}
	for key, value := range first {
		second[key] = value
	}
	second[name] = append(append([]object{}, first[name].([]object)...), small[protocol][1][name].([]object)...)
	return first, second
}

func TestTrajectories(t *testing.T) {
	for protocol := range small {
		t.Run(protocol, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			w := create(t, path, 1<<30)
			first, second := conversationOf(protocol)
			exchange(t, w, protocol, first, calls("c1", `{"command":"ls"}`))
			exchange(t, w, protocol, second, says("There is a.txt."))
			got := trajectory(t, path)
			valid(t, got)
			golden := filepath.Join("testdata", protocol+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A trial that was killed leaves a transcript that ends anywhere: as far as it goes it makes a
// trajectory.
func TestTheTrajectoryOfAnUnfinishedTranscript(t *testing.T) {
	for protocol := range small {
		path := filepath.Join(t.TempDir(), protocol)
		w := create(t, path, 1<<30)
		first, second := conversationOf(protocol)
		exchange(t, w, protocol, first, calls("c1", "{"))
		exchange(t, w, protocol, second, nil)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range text {
			var out bytes.Buffer
			steps, err := transcript.Trajectory(&out, bytes.NewReader(text[:cut]), transcript.Info{Agent: "a", Version: "1"})
			switch {
			case err != nil:
				t.Fatalf("%s, cut at %d: %v", protocol, cut, err)
			case steps == 0 && out.Len() > 0:
				t.Fatalf("%s, cut at %d: no step, and %s", protocol, cut, out.Bytes())
			case steps > 0:
				if doc := valid(t, out.Bytes()); len(doc.Steps) != steps {
					t.Fatalf("%d steps are %d", len(doc.Steps), steps)
				}
			}
		}
	}
}

func TestThereIsNoTrajectoryOfNothing(t *testing.T) {
	var out bytes.Buffer
	if steps, err := transcript.Trajectory(&out, strings.NewReader(""), transcript.Info{}); steps != 0 || err != nil || out.Len() != 0 {
		t.Errorf("%d steps, %v: %s", steps, err, out.String())
	}
}

// What was spent is in the totals, whether or not it made a step, and no step has what is
// another's.
func TestConversationsBesideEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, 1<<30)
	first, second := conversationOf(transcript.Messages)
	title := object{"messages": []object{{"role": "user", "content": "A title?"}}}
	exchange(t, w, transcript.Messages, first, calls("c1", `{}`))
	exchange(t, w, transcript.Messages, title, says("A list"))
	exchange(t, w, transcript.Messages, first, calls("c2", `{}`)) // asked again: c1 stays without a result
	exchange(t, w, transcript.Messages, second, &transcript.Response{Status: 529, Error: "overloaded"})
	exchange(t, w, transcript.Messages, second, says("Done."))
	doc := valid(t, trajectory(t, path))
	if doc.Final.Prompt != 600 || doc.Final.Completion != 30 || doc.Final.USD != 1.5 || doc.Final.Extra["estimated_tokens"] != 10.0 {
		t.Errorf("%+v", doc.Final)
	}
	agents := 0
	for _, s := range doc.Steps {
		if s.Source == "agent" {
			agents++
		}
	}
	if agents != 4 {
		t.Errorf("%d answers", agents)
	}
}

// Whatever an agent sends, what is made of it is valid.
func TestHostileTranscriptsMakeValidTrajectories(t *testing.T) {
	for i, body := range []object{
		{"tools": "none", "messages": 5},
		{"tools": []any{1, nil}, "messages": []any{1, nil, "x", []any{}, object{}}},
		{"messages": []object{{"role": "odd", "content": "x"}, {"role": "tool", "content": "no call"}, {"role": "developer", "content": []any{1}}}},
		{"input": "text", "instructions": 5},
		{"input": []any{nil, 5, object{"type": 5}, object{"type": "x_call_output", "output": object{}}}},
		{"system": object{}, "messages": []object{{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": "c1", "content": "nobody asked"}}}}},
		{"messages": []object{{"role": "user", "content": "\xff\u2028"}}},
	} {
		for protocol := range small {
			path := filepath.Join(t.TempDir(), fmt.Sprint(i, protocol))
			w := create(t, path, 1<<30)
			exchange(t, w, protocol, body, calls("c1", "no object"))
			exchange(t, w, protocol, body, calls("", "[]"))
			valid(t, trajectory(t, path))
		}
	}
}

func FuzzTrajectory(f *testing.F) {
	for protocol := range small {
		path := filepath.Join(f.TempDir(), protocol)
		w := create(f, path, 1<<30)
		first, second := conversationOf(protocol)
		exchange(f, w, protocol, first, calls("c1", "{}"))
		exchange(f, w, protocol, second, says("Done."))
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"n":1,"response":{"reply":{"calls":[{"arguments":"{\"a\":1,\"a\":2}"}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		steps, err := transcript.Trajectory(&out, bytes.NewReader(text), transcript.Info{Agent: "a"})
		if err == nil && steps > 0 {
			valid(t, out.Bytes())
		}
	})
}

// FuzzWriter has any body written, and read again.
func FuzzWriter(f *testing.F) {
	for protocol := range small {
		_, second := conversationOf(protocol)
		text, err := json.Marshal(second)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(protocol, text)
	}
	f.Fuzz(func(t *testing.T, protocol string, body []byte) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "t.jsonl")
		w := create(t, path, 1<<20)
		for range 2 {
			if _, err := w.Begin(at, protocol, "m", false, fields); err != nil {
				t.Fatal(err)
			}
		}
		if all := lines(t, path); len(all) != 2 || len(all[1].Request.New) > 0 && all[1].Request.After == "" && len(all[1].Request.New) != len(all[0].Request.New) {
			t.Fatalf("%+v", all)
		}
	})
}
