package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// talk makes a conversation as the loop makes them.
func talk(t *rapid.T) []Message {
	messages := []Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "order"}}
	text := func(name string, most int) string {
		return strings.Repeat("ä\n", rapid.IntRange(0, most/3).Draw(t, name))
	}
	for i := range rapid.IntRange(1, 20).Draw(t, "turns") {
		said := Message{Role: "assistant", Content: text("said", 3000)}
		for k := range rapid.IntRange(0, 3).Draw(t, "calls") {
			args, _ := json.Marshal(map[string]any{"content": text("argument", 3000), "n": k, "list": []string{text("item", 1000)}})
			said.Calls = append(said.Calls, Call{ID: fmt.Sprint(i, k), Name: "shell", Arguments: args})
		}
		messages = append(messages, said)
		for _, c := range said.Calls {
			messages = append(messages, Message{Role: "tool", CallID: c.ID, Content: "exit 0\n" + text("output", 6000)})
		}
		if len(said.Calls) == 0 {
			messages = append(messages, Message{Role: "user", Content: "Call one of the tools."})
		}
	}
	return messages
}

// clone copies a conversation so that nothing is shared.
func clone(messages []Message) []Message {
	out := slices.Clone(messages)
	for i, m := range out {
		out[i].Calls = slices.Clone(m.Calls)
		for k, c := range m.Calls {
			out[i].Calls[k].Arguments = slices.Clone(c.Arguments)
		}
	}
	return out
}

func TestCompaction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := talk(t)
		most := rapid.IntRange(500, 40_000).Draw(t, "most")
		less := most / 2
		given := clone(messages)
		got := compact(clone(messages), most, less)
		if !reflect.DeepEqual(got, compact(clone(messages), most, less)) {
			t.Error("it is not the same twice")
		}
		shared := clone(messages)
		before := slices.Clone(shared)
		compact(shared, most, less)
		for i := range before { // who was shown the messages still has them
			if !reflect.DeepEqual(given[i], before[i]) {
				t.Errorf("what was shown is changed: %+v", before[i])
			}
		}
		if weights(messages) <= most {
			if diff := cmp.Diff(messages, got); diff != "" {
				t.Errorf("there was no need for:\n%s", diff)
			}
			return
		}
		check(t, messages, got, most)
	})
}

// check holds what is true of every conversation that was made smaller.
func check(t *rapid.T, messages, got []Message, most int) {
	newest := func(all []Message) []Message {
		for i := len(all) - 1; ; i-- {
			if all[i].Role == "assistant" {
				return all[i:]
			}
		}
	}
	if diff := cmp.Diff(messages[:2], got[:2]); diff != "" {
		t.Errorf("the first messages do not stay:\n%s", diff)
	}
	if diff := cmp.Diff(newest(messages), newest(got)); diff != "" {
		t.Errorf("the last answer does not stay:\n%s", diff)
	}
	if rest := weights(got) - weights(newest(got)); rest > most {
		t.Errorf("%d bytes beside the last answer, want at most %d", rest, most)
	}
	for i := 2; i < len(got); i++ {
		for k, c := range got[i].Calls {
			if !json.Valid(c.Arguments) || c.Arguments[0] != '{' {
				t.Errorf("arguments %q", c.Arguments)
			}
			if answer := got[i+1+k]; answer.Role != "tool" || answer.CallID != c.ID {
				t.Errorf("call %s is answered by %+v", c.ID, answer)
			}
		}
		if got[i].Role == "tool" && !strings.HasPrefix(got[i].Content, "exit 0\n") {
			t.Errorf("how a command ended is lost: %q", got[i].Content)
		}
	}
	again := clone(got)
	for i, m := range again {
		if i >= 2 && m.Role != "user" {
			once := shrink(m)
			if !reflect.DeepEqual(once, shrink(once)) {
				t.Errorf("left out twice: %+v", shrink(once))
			}
		}
	}
}

func TestTheBeginningOfAConversationStaysForManyTurns(t *testing.T) {
	answers := make([]Answer, 180)
	for i := range answers {
		answers[i] = says(called("read_file", map[string]any{"path": "big", "offset": i}))
	}
	room := newMemory()
	room.files["/work/big"] = strings.Repeat(strings.Repeat("x", 60)+"\n", 900)
	j, s := job("/work"), &script{answers: answers, err: errBudget}
	j.MaxTurns = 200
	if _, err := Run(t.Context(), j, room, s.ask, nil); !errors.Is(err, errBudget) {
		t.Fatal(err)
	}
	changes := 0
	for i, messages := range s.seen[1:] {
		before := s.seen[i]
		if !reflect.DeepEqual(before, messages[:min(len(before), len(messages))]) {
			changes++
		}
		if n := weights(messages); n > mostTalk {
			t.Errorf("turn %d is asked with %d bytes", i+1, n)
		}
	}
	if changes == 0 || changes > 25 {
		t.Errorf("%d of %d requests began otherwise than the one before", changes, len(s.seen))
	}
}

// What comes from the model and the container is all that a conversation depends on.
func TestReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var answers []Answer
		for range rapid.IntRange(0, 8).Draw(t, "turns") {
			answers = append(answers, rapid.Custom(answer).Draw(t, "answer"))
		}
		hinted := rapid.Bool().Draw(t, "hinted")
		run := func() (*script, Proposal, string) {
			j, s, room := job("/work"), &script{answers: slices.Clone(answers), err: errBudget}, newMemory()
			j.Write = !hinted
			if hinted {
				j.Hint = &Environment{Setup: []string{"pip install ."}, Test: "pytest tests/test_y.py"}
			}
			p, err := Run(t.Context(), j, room, s.ask, func(_ context.Context, p Proposal) (string, error) {
				if p.Test == "pytest good" {
					return "", nil
				}
				return "no: " + p.Test, nil
			})
			return s, p, fmt.Sprint(err)
		}
		first, p, err := run()
		second, q, fault := run()
		if diff := cmp.Diff(first.seen, second.seen); diff != "" {
			t.Errorf("the second life is asked otherwise:\n%s", diff)
		}
		if diff := cmp.Diff(p, q); diff != "" || err != fault {
			t.Errorf("%s, then %s\n%s", err, fault, diff)
		}
		for turn, messages := range first.seen { // and a life that was cut short begins like the whole
			if turn > 0 && !reflect.DeepEqual(first.seen[turn-1], messages[:len(first.seen[turn-1])]) {
				t.Errorf("turn %d begins otherwise than the one before", turn)
			}
		}
	})
}

// answer is one that a model might give.
func answer(t *rapid.T) Answer {
	a := Answer{Content: rapid.StringN(0, 20, 60).Draw(t, "content")}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"shell", "read_file", "write_file", "list_dir", "grep", "apply_patch", "submit_tests", "dance"}).Draw(t, "name")
		args, err := json.Marshal(map[string]any{
			"command": rapid.String().Draw(t, "command"), "path": rapid.SampledFrom([]string{"a", "b/c", "../x", "/etc/x", ""}).Draw(t, "path"),
			"content": rapid.String().Draw(t, "text"), "pattern": "x", "patch": "x",
			"test_command": rapid.SampledFrom([]string{"pytest good", "pytest bad", "make"}).Draw(t, "test"),
			"files":        rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b/c"}), 0, 2).Draw(t, "files"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			args = args[:len(args)/2]
		}
		a.Calls = append(a.Calls, Call{ID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id"), Name: name, Arguments: args})
	}
	return a
}
