package gateway_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// fields are JSON members of a request beside its model and its conversation, or in their
// place.
func with(t *testing.T, protocol modeltest.Protocol, fields string) []byte {
	t.Helper()
	q := question(protocol, false, "Hello?")
	if err := json.Unmarshal([]byte(fields), &q); err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return encode(t, q)
}

// closedCase is a request and what of it a closed network has no way for, "" = nothing.
type closedCase struct{ fields, denied string }

var long = strings.Repeat("A", 10_000)

var closedCases = map[modeltest.Protocol]map[string]closedCase{
	modeltest.Chat: {
		"functions": {`{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"custom","custom":{"name":"g"}}]}`, ""},
		"an image inline": {
			`{"messages":[{"role":"user","content":[{"type":"text","text":"see https://example.org"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + long + `"}}]}]}`, "",
		},
		"a file inline":                {`{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}}]}]}`, ""},
		"sound inline":                 {`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"` + long + `","format":"wav"}}]}]}`, ""},
		"a call with an address":       {`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"image_url\":\"http://x.y\"}"}}]}]}`, ""},
		"what is asked for not to be":  {`{"plugins":[],"web_search_options":null}`, ""},
		"thoughts of Gemini":           {`{"extra_body":{"google":{"thinking_config":{"thinking_budget":5}}}}`, ""},
		"an image at an address":       {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]}`, "what lies at an address"},
		"an image at a long address":   {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/` + long + `"}}]}]}`, "what lies at an address"},
		"an image by its address":      {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"HTTPS://example.org/a.png"}]}]}`, "what lies at an address"},
		"an address in other words":    {`{"messages":[{"role":"user","content":[{"\u0069mage_url":{"url":"\u0068ttp:\/\/example.org"}}]}]}`, "what lies at an address"},
		"with capitals":                {`{"messages":[{"role":"user","content":[{"Image_URL":{"Url":"http://example.org"}}]}]}`, "what lies at an address"},
		"in the result of a tool":      {`{"messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"http://example.org"}}]}]}`, "what lies at an address"},
		"a video":                      {`{"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"http://example.org"}}]}]}`, "what lies at an address"},
		"a file at an address":         {`{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"http://example.org"}}]}]}`, "what lies at an address"},
		"sound at an address":          {`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"http://example.org"}}]}]}`, "what lies at an address"},
		"a file that was sent before":  {`{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, "a file that the provider keeps"},
		"a search":                     {`{"web_search_options":{"search_context_size":"low"}}`, "web_search_options"},
		"plugins":                      {`{"plugins":[{"id":"web"}]}`, "plugins"},
		"a search of xAI":              {`{"search_parameters":{"mode":"auto"}}`, "search_parameters"},
		"a search of Alibaba":          {`{"enable_search":true}`, "enable_search"},
		"a search of Gemini":           {`{"extra_body":{"google":{"tools":[{"google_search":{}}]}}}`, "a tool without a type"},
		"one that is hidden deeper":    {`{"extra_body":{"extra_body":{"tools":[{"google_search":{}}]}}}`, "extra_body"},
		"a tool of the provider":       {`{"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"}]}`, "the tool web_search"},
		"a tool of two types":          {`{"tools":[{"type":"web_search","type":"function"}]}`, "the tool web_search"},
		"a tool of OpenRouter":         {`{"tools":[{"type":"openrouter:web_search"}]}`, "the tool openrouter:web_search"},
		"a model that searches":        {`{"model":"openai/gpt-5:online"}`, "the model openai/gpt-5:online, which searches the web"},
		"another that does":            {`{"model":"gpt-4o-search-preview"}`, "the model gpt-4o-search-preview, which searches the web"},
		"one to fall back on":          {`{"models":["m","perplexity/sonar-pro"]}`, "the model perplexity/sonar-pro, which searches the web"},
		"settings that are kept there": {`{"model":"@preset/web"}`, "the model @preset/web, which searches the web"},
	},
	modeltest.Responses: {
		"tools of the agent": {
			`{"tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"},{"type":"local_shell"},{"type":"apply_patch"},{"type":"shell"},{"type":"shell","environment":{"type":"local"}},
			{"type":"tool_search","execution":"client"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"h"}]},{"type":"image_generation"}]}`, "",
		},
		"what was said": {
			`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"http://x"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]},
			{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"http://example.org"},
			{"type":"web_search_call","id":"ws"},{"type":"reasoning","summary":[],"encrypted_content":"x"}]}`, "",
		},
		"an image at an address":      {`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}]}`, "what lies at an address"},
		"a file at an address":        {`{"input":[{"role":"user","content":[{"type":"input_file","file_url":"https://example.org/a.pdf"}]}]}`, "what lies at an address"},
		"a file that was sent before": {`{"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]}`, "a file that the provider keeps"},
		"in the result of a tool":     {`{"input":[{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"http://example.org"}]}]}`, "what lies at an address"},
		"a screen":                    {`{"input":[{"type":"computer_call_output","call_id":"1","output":{"type":"computer_screenshot","image_url":"http://example.org"}}]}`, "what lies at an address"},
		"tools that were found":       {`{"input":[{"type":"tool_search_output","tools":[{"type":"mcp","server_url":"http://example.org"}]}]}`, "the tool mcp"},
		"a search":                    {`{"tools":[{"type":"web_search_preview"}]}`, "the tool web_search_preview"},
		"a search of files":           {`{"tools":[{"type":"file_search","vector_store_ids":["v"]}]}`, "the tool file_search"},
		"code":                        {`{"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, "the tool code_interpreter"},
		"a server of others":          {`{"tools":[{"type":"mcp","server_label":"s","server_url":"http://example.org"}]}`, "the tool mcp"},
		"one in a namespace":          {`{"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}`, "the tool mcp"},
		"a shell elsewhere":           {`{"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, "the tool shell in container_auto"},
		"a mask at an address":        {`{"tools":[{"type":"image_generation","input_image_mask":{"image_url":"http://example.org"}}]}`, "what lies at an address"},
		"what is kept there":          {`{"prompt":{"id":"pmpt_1"}}`, "prompt"},
	},
	modeltest.Messages: {
		"tools of the agent": {
			`{"tools":[{"name":"f","input_schema":{"type":"object"}},{"type":"custom","name":"g","input_schema":{}},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"},
			{"type":"memory_20250818","name":"m"},{"type":"tool_search_tool_regex_20251119","name":"t"}]}`, "",
		},
		"what was said": {
			`{"system":[{"type":"text","text":"http://x"}],"messages":[{"role":"user","content":[{"type":"text","text":"http://x"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + long + `"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"see http://x."}},
			{"type":"document","source":{"type":"content","content":[{"type":"text","text":"http://x"}]}},{"type":"search_result","source":"https://example.org","title":"t","content":[{"type":"text","text":"x"}]}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"image_url":"http://x","source":{"type":"url","url":"http://x"}}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"http://x"}]}]}`, "",
		},
		"an image at an address":      {`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}]}]}`, "what lies at an address"},
		"a document at an address":    {`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}]}]}`, "what lies at an address"},
		"a file that was sent before": {`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`, "a file that the provider keeps"},
		"in the result of a tool": {
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"url","url":"http://example.org"}}]}]}]}`, "what lies at an address",
		},
		"a file for its machine": {`{"messages":[{"role":"user","content":[{"type":"container_upload","file_id":""}]}]}`, "a file for a machine of the provider's"},
		"too deep": {
			`{"messages":[{"role":"user","content":` + strings.Repeat(`[{"content":`, 12) + `[{"type":"image","source":{"type":"url","url":"http://example.org"}}]` + strings.Repeat(`}]`, 12) + `}]}`,
			"what lies too deep to be looked at",
		},
		"a search":              {`{"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "the tool web_search_20250305"},
		"an address to fetch":   {`{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, "the tool web_fetch_20250910"},
		"code":                  {`{"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}`, "the tool code_execution_20250825"},
		"tools of others":       {`{"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]}`, "the tool mcp_toolset"},
		"servers of others":     {`{"mcp_servers":[{"type":"url","url":"http://example.org","name":"s"}]}`, "mcp_servers"},
		"a machine":             {`{"container":{"skills":[{"type":"anthropic","skill_id":"pdf"}]}}`, "container"},
		"one that nobody knows": {`{"tools":[{"name":"x"}]}`, "a tool without a type"},
	},
}

// An agent without a network has none by its provider, either; whoever has one may ask for
// what it likes.
// TestAClosedTrialSeesTheModelOfItsRunAlone asks for the list of models, which the provider is not
// asked for.
func TestAClosedTrialSeesTheModelOfItsRunAlone(t *testing.T) {
	for _, protocol := range []modeltest.Protocol{modeltest.Chat, modeltest.Messages} {
		for _, model := range []string{"m", ""} {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				t.Error("the provider is asked")
				_, _ = io.WriteString(w, `{"data":[{"id":"m"},{"id":"secret-model-of-the-account"}]}`)
			})
			w := newFixture(t, 0, provider(url, protocol))
			a := w.agent(protocol, func(g *gateway.Grant) { g.Closed, g.Model = true, model })
			prefix := gateway.OpenAIPrefix
			if protocol == modeltest.Messages {
				prefix = gateway.AnthropicPrefix
			}
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL+prefix+"/v1/models?limit=1000", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := a.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			var list struct{ Data []struct{ ID string } }
			if err := errors.Join(json.NewDecoder(res.Body).Decode(&list), res.Body.Close()); err != nil || res.StatusCode != 200 {
				t.Fatal(res.StatusCode, err)
			}
			if n := len(list.Data); model == "" && n != 0 || model != "" && (n != 1 || list.Data[0].ID != "m") {
				t.Errorf("%s, model %q: %+v", protocol, model, list)
			}
		}
	}
}

func TestAClosedNetworkHasNoWayByTheProvider(t *testing.T) {
	for protocol, cases := range closedCases {
		for name, tc := range cases {
			t.Run(string(protocol)+", "+name, func(t *testing.T) {
				var asked atomic.Int64
				url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					asked.Add(1)
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1}}`)
				})
				body := with(t, protocol, tc.fields)
				if strings.Contains(name, "two types") || strings.Contains(name, "other words") { // as it is
					body = []byte(strings.TrimSuffix(tc.fields, "}") + `,"model":"m"}`)
				}
				w := newFixture(t, 0, provider(url, protocol))
				a := w.agent(protocol, func(g *gateway.Grant) { g.Closed = true })
				r := a.send(body)
				if tc.denied == "" {
					if r.status != http.StatusOK {
						t.Errorf("%d %s", r.status, r.body)
					}
					return
				}
				var told struct {
					Error struct{ Type, Message string }
				}
				if err := json.Unmarshal([]byte(r.body), &told); err != nil || r.status != 400 || told.Error.Type != "invalid_request_error" {
					t.Errorf("%d %s", r.status, r.body)
				}
				if want := "The network of this task is closed, and the provider is not asked for " + tc.denied + "."; told.Error.Message != want {
					t.Errorf("it says %q, want %q", told.Error.Message, want)
				}
				if n := asked.Load(); n > 0 || len(w.ledger.all(t)) > 0 {
					t.Errorf("the provider was asked %d times", n)
				}
				if !strings.Contains(a.transcript(), `"denied":"`+tc.denied+`"`) {
					t.Errorf("the transcript does not tell: %s", a.transcript())
				}
				open := w.agent(protocol, func(g *gateway.Grant) { g.Trial, g.Dir = "r.e1.2", t.TempDir() })
				if r := open.send(body); r.status != http.StatusOK {
					t.Errorf("with a network: %d %s", r.status, r.body)
				}
			})
		}
	}
}

// Tokens are counted of what the provider would open to count them, too.
func TestNothingIsOpenedToBeCounted(t *testing.T) {
	asked := false
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	a := newFixture(t, 0, provider(url, modeltest.Messages)).agent(modeltest.Messages, func(g *gateway.Grant) { g.Closed = true })
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://example.org"}}]}]}`, `[`, `null`,
	} {
		res, err := a.client.Post(a.server.URL+"/anthropic/v1/messages/count_tokens", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 400 || asked {
			t.Errorf("%s: %d", body, res.StatusCode)
		}
	}
}
