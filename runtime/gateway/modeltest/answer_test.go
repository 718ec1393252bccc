package modeltest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// always is a script with one answer.
func always(answer modeltest.Answer) modeltest.Script {
	return func(modeltest.Request) modeltest.Answer { return answer }
}

func TestAnswersAreUnderstoodInEachProtocol(t *testing.T) {
	text := "Grüße, \"World\" <&>\nand 日本"
	calls := []modeltest.Call{
		{ID: "call_1", Name: "Bash", Arguments: object{"command": "echo 'ü'"}},
		{ID: "call_2", Name: "Read", Arguments: object{"path": "/x", "lines": []any{1.0, 2.0}}},
	}
	usage := modeltest.Usage{Input: 30, Cached: 12, Output: 7}
	stops := map[modeltest.Protocol][2]string{
		modeltest.Chat:      {"stop", "tool_calls"},
		modeltest.Responses: {"completed", "completed"},
		modeltest.Messages:  {"end_turn", "tool_use"},
	}
	for name, answer := range map[string]modeltest.Answer{
		"nothing": {},
		"text":    {Text: text},
		"calls":   {Calls: calls},
		"both":    {Text: text, Calls: calls},
	} {
		for _, protocol := range protocols {
			for _, stream := range []bool{false, true} {
				for _, deltas := range []int{0, 3, 1000} {
					t.Run(fmt.Sprint(name, " ", protocol, " stream=", stream, " deltas=", deltas), func(t *testing.T) {
						answer.Usage, answer.Deltas = usage, deltas
						server := modeltest.New(t, always(answer))
						got := talk(t, protocol, server.URL).says(t, question(protocol, stream))
						want := said{Text: answer.Text, Calls: answer.Calls, Stop: stops[protocol][0], Usage: &usage, Model: "m"}
						if answer.Calls != nil {
							want.Stop = stops[protocol][1]
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Error(diff)
						}
					})
				}
			}
		}
	}
}

func TestStreamsHaveTheirEventsInOrder(t *testing.T) {
	answer := modeltest.Answer{Text: "Hello", Deltas: 2, Calls: []modeltest.Call{{Name: "Bash", Arguments: object{"command": "ls"}}}}
	for protocol, want := range map[modeltest.Protocol][]string{
		modeltest.Chat: {"role", "content", "content", "call", "arguments", "arguments", "finish", "usage", "[DONE]"},
		modeltest.Responses: {
			"response.created", "response.in_progress",
			"response.output_item.added", "response.content_part.added",
			"response.output_text.delta", "response.output_text.delta",
			"response.output_text.done", "response.content_part.done", "response.output_item.done",
			"response.output_item.added",
			"response.function_call_arguments.delta", "response.function_call_arguments.delta",
			"response.function_call_arguments.done", "response.output_item.done",
			"response.completed",
		},
		modeltest.Messages: {
			"message_start",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", "ping",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
			"message_delta", "message_stop",
		},
	} {
		t.Run(string(protocol), func(t *testing.T) {
			server := modeltest.New(t, always(answer))
			_, stream, err := talk(t, protocol, server.URL).ask(t, question(protocol, true))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, shapes(t, stream)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func shapes(t *testing.T, stream []byte) []string {
	t.Helper()
	var all []string
	for _, event := range eventsOf(t, stream) {
		all = append(all, event.shape)
	}
	return all
}

func TestCallsWithoutAnIDAreGivenOneEach(t *testing.T) {
	answer := modeltest.Answer{Calls: []modeltest.Call{{Name: "a"}, {Name: "b"}}}
	server := modeltest.New(t, always(answer))
	seen := map[string]bool{"": true}
	for _, protocol := range protocols {
		for range 2 {
			for _, call := range talk(t, protocol, server.URL).says(t, question(protocol, true)).Calls {
				if !cmp.Equal(call.Arguments, object{}) {
					t.Errorf("%s: a call without arguments has %v", protocol, call.Arguments)
				}
				if seen[call.ID] {
					t.Errorf("%s: the id %q is none of its own", protocol, call.ID)
				}
				seen[call.ID] = true
			}
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d ids of 12 calls", len(seen)-1)
	}
}

func TestUsageIsToldWhereTheProtocolTellsIt(t *testing.T) {
	plain := modeltest.Usage{Input: 30, Output: 7}
	cached := modeltest.Usage{Input: 30, Cached: 20, CacheCreation: 5, Output: 7}
	folded := modeltest.Usage{Input: 35, Cached: 20, Output: 7}
	for _, c := range []struct {
		protocol   modeltest.Protocol
		stream     bool
		asked      any // stream_options
		given      modeltest.Usage
		told       modeltest.Usage
		nothing    bool
		deltaInput bool // the end of a stream of Messages repeats what was read
	}{
		{protocol: modeltest.Chat, given: cached, told: folded},
		{protocol: modeltest.Chat, stream: true, asked: object{"include_usage": true}, given: cached, told: folded},
		{protocol: modeltest.Chat, stream: true, asked: object{"include_usage": false}, given: plain, nothing: true},
		{protocol: modeltest.Chat, stream: true, given: plain, nothing: true},
		{protocol: modeltest.Responses, given: plain, told: plain},
		{protocol: modeltest.Responses, stream: true, given: cached, told: folded},
		{protocol: modeltest.Messages, given: cached, told: cached},
		{protocol: modeltest.Messages, stream: true, given: plain, told: plain},
		{protocol: modeltest.Messages, stream: true, given: cached, told: cached, deltaInput: true},
	} {
		t.Run(fmt.Sprintf("%s stream=%v asked=%v %v", c.protocol, c.stream, c.asked, c.given), func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{Text: "x", Usage: c.given}))
			body := question(c.protocol, c.stream)
			delete(body, "stream_options")
			if c.asked != nil {
				body["stream_options"] = c.asked
			}
			client := talk(t, c.protocol, server.URL)
			_, answer, err := client.ask(t, body)
			if err != nil {
				t.Fatal(err)
			}
			told := understand(t, c.protocol, c.stream, answer).Usage
			if (told == nil) != c.nothing || told != nil && *told != c.told {
				t.Errorf("the client was told %v, want %v", told, c.told)
			}
			record := server.Exchanges()[0]
			if record.Usage != c.told || record.Final == c.nothing || server.Usage() != c.told {
				t.Errorf("the record has %v, final %v, and the sum is %v; want %v", record.Usage, record.Final, server.Usage(), c.told)
			}
			if c.protocol == modeltest.Messages && c.stream {
				var delta struct{ Usage messagesCount }
				events := eventsOf(t, answer)
				if unmarshal(t, events[len(events)-2].data, &delta); (delta.Usage.Input != nil) != c.deltaInput {
					t.Errorf("the last count is %s", events[len(events)-2].data)
				}
			}
		})
	}
}
