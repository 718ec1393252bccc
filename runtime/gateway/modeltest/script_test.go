package modeltest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

func TestEqualConversationsAreEqualTurns(t *testing.T) {
	turns := []modeltest.Turn{
		{Role: "system", Text: "Be brief."},
		{Role: "user", Text: "List it."},
		{Role: "assistant", Text: "I look.", Calls: []modeltest.Call{
			{ID: "c1", Name: "bash", Arguments: object{"command": "ls"}},
			{ID: "c2", Name: "bash", Arguments: object{"command": "pwd"}},
		}},
		{Role: "tool", Results: []modeltest.Result{{ID: "c1", Text: "a\nb"}, {ID: "c2", Text: "/"}}},
		{Role: "assistant", Calls: []modeltest.Call{{ID: "c3", Name: "bash", Arguments: object{"n": 1.5}}}},
		{Role: "tool", Results: []modeltest.Result{{ID: "c3", Text: ""}}},
		{Role: "assistant", Text: modeltest.Done},
		{Role: "user", Text: "Stop hook feedback: go on"},
		{Role: "user", Text: "There is an hour left."},
	}
	for _, protocol := range protocols {
		t.Run(string(protocol), func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{}))
			client := talk(t, protocol, server.URL)
			client.says(t, conversation(protocol, false, []string{"bash", "read"}, turns...))
			want := modeltest.Request{
				Protocol: protocol, Number: 1, Model: "m", Turns: turns, Tools: []string{"bash", "read"},
				IncludeUsage: protocol == modeltest.Chat,
			}
			if diff := cmp.Diff(want, server.Exchanges()[0].Request); diff != "" {
				t.Error(diff)
			}
			if got := want.Results(); got != 3 {
				t.Errorf("%d results, want 3", got)
			}
		})
	}
}

// What the programs send beside what everybody sends.
func TestOtherFormsOfRequestsAreRead(t *testing.T) {
	user := modeltest.Turn{Role: "user", Text: "Hi"}
	for name, c := range map[string]struct {
		protocol modeltest.Protocol
		body     string
		turns    []modeltest.Turn
		tools    []string
	}{
		"responses with a string for input": {
			modeltest.Responses, `{"model":"m","instructions":"Be brief.","input":"Hi"}`,
			[]modeltest.Turn{{Role: "system", Text: "Be brief."}, user},
			nil,
		},
		"responses with a custom tool and one that has no name": {
			modeltest.Responses,
			`{"model":"m","tools":[{"type":"custom","name":"apply_patch"},{"type":"web_search"}],"input":[
				{"role":"user","content":"Hi"},
				{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** Begin"},
				{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"ok"}]}]}`,
			[]modeltest.Turn{
				user,
				{Role: "assistant", Calls: []modeltest.Call{{ID: "c", Name: "apply_patch", Arguments: object{"input": "*** Begin"}}}},
				{Role: "tool", Results: []modeltest.Result{{ID: "c", Text: "ok"}}},
			},
			[]string{"apply_patch", "web_search"},
		},
		"chat with a null content and an image": {
			modeltest.Chat,
			`{"model":"m","messages":[
				{"role":"developer","content":"Be brief."},
				{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"there"}]},
				{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"not JSON"}}]}]}`,
			[]modeltest.Turn{
				{Role: "system", Text: "Be brief."},
				{Role: "user", Text: "Hi\nthere"},
				{Role: "assistant", Calls: []modeltest.Call{{ID: "c", Name: "x", Arguments: object{"input": "not JSON"}}}},
			},
			nil,
		},
		"messages with strings, and a reminder beside a result": {
			modeltest.Messages,
			`{"model":"m","max_tokens":1,"system":"Be brief.","tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[
				{"role":"user","content":"Hi"},
				{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"c","name":"x","input":{"a":"b"}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"ok"},{"type":"text","text":"Remember."}]}]}`,
			[]modeltest.Turn{
				{Role: "system", Text: "Be brief."},
				user,
				{Role: "assistant", Calls: []modeltest.Call{{ID: "c", Name: "x", Arguments: object{"a": "b"}}}},
				{Role: "tool", Results: []modeltest.Result{{ID: "c", Text: "ok"}}},
				{Role: "user", Text: "Remember."},
			},
			[]string{"web_search"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{}))
			response, err := talk(t, c.protocol, server.URL).post(t, pathOf(c.protocol), []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			request := server.Exchanges()[0].Request
			if diff := cmp.Diff(c.turns, request.Turns); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.tools, request.Tools); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShellRunsItsCommandsAndStopsWhereItIsTold(t *testing.T) {
	want := []string{"one", "two", modeltest.Done, "three", modeltest.Done, modeltest.Done}
	for _, protocol := range protocols {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(protocol, " stream=", stream), func(t *testing.T) {
				server := modeltest.New(t, modeltest.Shell("one", "two", modeltest.Stop, "three"))
				client := talk(t, protocol, server.URL)
				turns := []modeltest.Turn{{Role: "user", Text: "Do it."}}
				var did []string
				for range want {
					title := client.says(t, conversation(protocol, stream, nil, turns...))
					if title.Calls != nil || title.Text == "" {
						t.Fatalf("a request without tools is answered by %v", title)
					}
					answer := client.says(t, conversation(protocol, stream, []string{"Read", "bash"}, turns...))
					turns = append(turns, modeltest.Turn{Role: "assistant", Text: answer.Text, Calls: answer.Calls})
					if answer.Calls == nil {
						did = append(did, answer.Text)
						// A program that is resumed may have put in words of its own.
						turns = append(turns, modeltest.Turn{Role: "user", Text: "Stop hook feedback: there is time left"},
							modeltest.Turn{Role: "assistant", Text: "No response requested."}, modeltest.Turn{Role: "user", Text: "Continue."})
						continue
					}
					call := answer.Calls[0]
					did = append(did, call.Arguments["command"].(string))
					turns = append(turns, modeltest.Turn{Role: "tool", Results: []modeltest.Result{{ID: call.ID, Text: "ok"}}})
				}
				if !slices.Equal(did, want) {
					t.Errorf("did %q, want %q", did, want)
				}
			})
		}
	}
}

func TestShellUsesTheToolThatIsOffered(t *testing.T) {
	for name, want := range map[string]object{
		"Bash":          {"command": "ls", "description": "Run a step"},
		"exec_command":  {"cmd": "ls", "yield_time_ms": 30000.0},
		"shell_command": {"command": "ls"},
		"shell":         {"command": []any{"sh", "-c", "ls"}},
		"bash":          {"command": "ls", "description": "Run a step"},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.New(t, modeltest.Shell("ls"))
			client := talk(t, modeltest.Responses, server.URL)
			user := modeltest.Turn{Role: "user", Text: "Do it."}
			answer := client.says(t, conversation(modeltest.Responses, true, []string{"Read", name, "write"}, user))
			if len(answer.Calls) != 1 || answer.Calls[0].Name != name || !cmp.Equal(answer.Calls[0].Arguments, want) {
				t.Errorf("called %v, want %s with %v", answer.Calls, name, want)
			}
		})
	}
}
