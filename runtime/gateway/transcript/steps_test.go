package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A transcript is read a step at a time while it grows: each with what is new, what the model said, and what it called.
func TestStepsOfATranscriptThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w, err := Create(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	var messages []string
	ask := func(minute int, add string, reply Response) {
		t.Helper()
		messages = append(messages, add)
		fields := map[string]json.RawMessage{"model": json.RawMessage(`"m"`), "messages": json.RawMessage("[" + strings.Join(messages, ",") + "]")}
		n, err := w.Begin(at.Add(time.Duration(minute)*time.Minute), Completions, "m", false, fields)
		if err = errors.Join(err, w.End(at.Add(time.Duration(minute)*time.Minute+time.Second), n, reply), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	x := &Index{}
	extend := func() {
		t.Helper()
		info, err := file.Stat()
		if err = errors.Join(err, x.Extend(t.Context(), file, info.Size())); err != nil {
			t.Fatal(err)
		}
	}
	extend()
	if x.Len() != 0 {
		t.Errorf("an empty transcript has %d steps", x.Len())
	}
	ask(1, `{"role":"user","content":"do it"}`, Response{Status: 200, Reply: &Reply{Text: "I look.", Reasoning: "hm", Calls: []Call{{"c1", "bash", `{"command":"ls"}`}}}, Tokens: Tokens{Input: 10, Output: 5}})
	ask(2, `{"role":"tool","tool_call_id":"c1","content":"src"}`, Response{Status: 500, Error: "overloaded"})
	extend()
	ask(9, `{"role":"user","content":"again"}`, Response{Status: 200, Reply: &Reply{Text: "done"}})
	extend()
	if x.Len() != 3 {
		t.Fatalf("there are %d steps", x.Len())
	}
	for i, want := range []Step{
		{N: 1, Messages: []Message{{"user", "do it"}}, Text: "I look.", Reasoning: "hm"},
		{N: 2, Messages: []Message{{"tool", "src"}}, Error: "overloaded"},
		{N: 3, Messages: []Message{{"user", "again"}}, Text: "done"},
	} {
		s, err := x.Read(file, i)
		if err != nil || s.N != want.N || fmt.Sprint(s.Messages) != fmt.Sprint(want.Messages) || s.Text != want.Text || s.Reasoning != want.Reasoning || s.Error != want.Error || !s.Answered || s.Model != "m" {
			t.Errorf("step %d is %+v, %v", i, s, err)
		}
	}
	if i := x.From(at.Add(2 * time.Minute)); i != 1 {
		t.Errorf("from the second minute on comes step %d", i)
	}
	if i := x.From(at.Add(time.Hour)); i != 3 {
		t.Errorf("after all is step %d", i)
	}
	if found, next := x.Matching(0, 5, "bash", false); fmt.Sprint(found) != "[0]" || next != 3 {
		t.Errorf("bash was called at %v, %d", found, next)
	}
	if found, next := x.Matching(0, 1, "", false); fmt.Sprint(found) != "[0]" || next != 1 {
		t.Errorf("the first page is %v, and goes on at %d", found, next)
	}
	if found, _ := x.Matching(0, 5, "", true); fmt.Sprint(found) != "[1]" {
		t.Errorf("failed are %v", found)
	}
	if _, err := x.Read(file, 3); err == nil {
		t.Error("there is a step behind the last one")
	}
}

// Half a line is no step, and is one once it is whole.
func TestAStepThatIsHalfWritten(t *testing.T) {
	line := `{"n":1,"time":"2030-05-01T12:00:00Z","request":{"protocol":"chat.completions","model":"m","at":"a","new":[{"role":"user","content":"x"}]}}` + "\n"
	x := &Index{}
	for size := range len(line) + 1 {
		if err := x.Extend(t.Context(), bytes.NewReader([]byte(line[:size])), int64(size)); err != nil {
			t.Fatal(err)
		}
		if (x.Len() == 1) != (size == len(line)) {
			t.Fatalf("with %d of %d bytes there are %d steps", size, len(line), x.Len())
		}
	}
	s, err := x.Read(strings.NewReader(line), 0)
	if err != nil || s.Answered || len(s.Messages) != 1 {
		t.Errorf("it is %+v, %v", s, err)
	}
}

// Whatever an agent and its model write, what is told of a step has a bound.
func TestWhatIsToldOfAStepIsBounded(t *testing.T) {
	long := strings.Repeat("x", 3*maxText)
	var messages []json.RawMessage
	for range 3 * maxMessages {
		messages = append(messages, json.RawMessage(`{"role":"user","content":"`+long[:100]+`"}`))
	}
	messages[0] = json.RawMessage(`{"role":"user","content":"` + long + `"}`)
	reply := &Reply{Text: long, Reasoning: long}
	for range 3 * maxMessages {
		reply.Calls = append(reply.Calls, Call{Name: long[:5*maxCallName], Arguments: long[:200]})
	}
	var b bytes.Buffer
	for _, l := range []Line{{N: 1, Request: &Request{Protocol: Completions, Model: long, New: messages}}, {N: 1, Response: &Response{Status: 200, Error: long, Reply: reply}}} {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	x := &Index{}
	if err := x.Extend(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Fatal(err)
	}
	s, err := x.Read(bytes.NewReader(b.Bytes()), 0)
	if err != nil || s.Bytes() > 1<<20 || len(s.Messages) > maxMessages+1 || len(s.Calls) > maxMessages || len(s.Model) > 2*maxCallName {
		t.Errorf("%d bytes, %d messages, %d calls, %v", s.Bytes(), len(s.Messages), len(s.Calls), err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := (&Index{}).Extend(stopped, bytes.NewReader(b.Bytes()), int64(b.Len())); !errors.Is(err, context.Canceled) {
		t.Errorf("for nobody it is read: %v", err)
	}
	if p := x.places[0]; len(p.tools) > maxTools || len(p.tools[0]) > maxToolName {
		t.Errorf("the index has %d names of tools, the first of %d bytes", len(p.tools), len(p.tools[0]))
	}
}

// A request that is too large is told by its size, and the steps beside it as they are.
func TestAStepThatIsTooLarge(t *testing.T) {
	var b bytes.Buffer
	for n, size := range []int{10, 2 * maxStep, 10} {
		fmt.Fprintf(&b, `{"n":%d,"time":"2030-05-01T12:00:00Z","request":{"protocol":"chat.completions","model":"m","new":[{"role":"user","content":"%s"}]}}`+"\n", n+1, strings.Repeat("x", size))
		fmt.Fprintf(&b, `{"n":%d,"time":"2030-05-01T12:00:00Z","response":{"status":200,"reply":{"text":"answer"}}}`+"\n", n+1)
	}
	x := &Index{}
	if err := x.Extend(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil || x.Len() != 3 {
		t.Fatalf("%d steps, %v", x.Len(), err)
	}
	for i, want := range []string{"xxx", "more than 4 MiB", "xxx"} {
		s, err := x.Read(bytes.NewReader(b.Bytes()), i)
		if err != nil || len(s.Messages) != 1 || !strings.Contains(s.Messages[0].Text, want) || s.Text != "answer" || !s.Answered {
			t.Errorf("step %d is %+v, %v", i, s, err)
		}
	}
}
