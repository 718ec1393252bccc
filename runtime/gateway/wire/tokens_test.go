package wire

import (
	"testing"
)

// Reasoning is within the output with some and beside it with others; it is counted once.
func TestReasoningCountsOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		usage string
		want  int64
	}{
		"within, by the total":   {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"beside, by the total":   {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"some of it beside":      {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":160,"completion_tokens_details":{"reasoning_tokens":40}`, 60},
		"a total of more":        {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":999,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"a total of less":        {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":60,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"within, for all we see": {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"more than the output":   {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":400}`, 450},
		"in another place":       {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"reasoning_tokens":40`, 90},
		"in both":                {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"reasoning_tokens":40,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"what is no number":      {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":1e300,"completion_tokens_details":{"reasoning_tokens":-4}`, 50},
		"null":                   {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":null`, 50},
	} {
		var m Meter
		wholeCompletion([]byte(`{"usage":{`+tc.usage+`}}`), &m)
		if m.Output != tc.want || m.Input != 100 || !m.Told {
			t.Errorf("%s: %+v, want %d", name, m.Tokens, tc.want)
		}
	}
	var m Meter
	wholeResponse([]byte(`{"usage":{"input_tokens":100,"output_tokens":50,"total_tokens":190,"output_tokens_details":{"reasoning_tokens":40}}}`), &m)
	if m.Output != 90 {
		t.Errorf("of responses: %+v", m.Tokens)
	}
}

func TestWhatIsWrittenForAnHourIsToldApart(t *testing.T) {
	const kept = `"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":30}`
	for name, tc := range map[string]struct {
		events        []string
		written, hour int64
	}{
		"in one piece":         {nil, 40, 30},
		"in a stream":          {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":40,` + kept + `}}}`, `{"type":"message_delta","usage":{"output_tokens":3}}`}, 40, 30},
		"at its end":           {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5}}}`, `{"type":"message_delta","usage":{"output_tokens":3,"cache_creation_input_tokens":40,` + kept + `}}`}, 40, 30},
		"more than is written": {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":20,` + kept + `}}}`}, 20, 20},
		"nothing":              {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation":null}}}`}, 0, 0},
	} {
		var m Meter
		if tc.events == nil {
			wholeMessage([]byte(`{"usage":{"input_tokens":5,"output_tokens":3,"cache_creation_input_tokens":40,`+kept+`}}`), &m)
		}
		for _, e := range tc.events {
			messageEvent([]byte(e), &m)
		}
		if m.Written != tc.written || m.Hour != tc.hour || m.Input != 5+tc.written {
			t.Errorf("%s: %+v", name, m.Tokens)
		}
	}
}
