package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type frame struct{ Raw, Data string }

// all reads a stream to its end.
func all(r io.Reader) (frames []frame, rest string, err error) {
	f := newFrames(r)
	for {
		raw, err := f.next()
		if err != nil {
			return frames, string(f.raw), err
		}
		frames = append(frames, frame{string(raw), string(dataOf(raw))})
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, tc := range map[string]struct {
		in   string
		want []frame
		rest string
	}{
		"nothing":                     {"", nil, ""},
		"one":                         {"data: a\n\n", []frame{{"data: a\n\n", "a"}}, ""},
		"one of many lines":           {"data: a\ndata:b\ndata\n\n", []frame{{"data: a\ndata:b\ndata\n\n", "a\nb\n"}}, ""},
		"with a name and an id":       {"event: e\nid: 1\ndata: a\n\n", []frame{{"event: e\nid: 1\ndata: a\n\n", "a"}}, ""},
		"ends of lines of two kinds":  {"data: a\r\n\r\ndata: b\n\r\n", []frame{{"data: a\r\n\r\n", "a"}, {"data: b\n\r\n", "b"}}, ""},
		"comments":                    {": hello\n\n:\n\ndata: a\n: b\n\n", []frame{{": hello\n\n", ""}, {":\n\n", ""}, {"data: a\n: b\n\n", "a"}}, ""},
		"empty lines":                 {"\n\ndata: a\n\n", []frame{{"\n", ""}, {"\n", ""}, {"data: a\n\n", "a"}}, ""},
		"only one space is not meant": {"data:  a \n\n", []frame{{"data:  a \n\n", " a "}}, ""},
		"other fields":                {"database: a\n data: b\n\n", []frame{{"database: a\n data: b\n\n", ""}}, ""},
		"an end that is missing":      {"data: a\n\ndata: b\n", []frame{{"data: a\n\n", "a"}}, "data: b\n"},
		"a line that is long":         {"data: " + long + "\n\ndata: a\n\n", []frame{{"data: " + long + "\n\n", long}, {"data: a\n\n", "a"}}, ""},
		"a line as long as a buffer": {
			"data: " + long[:8<<10-6] + "\n\ndata: a\n\n", []frame{{"data: " + long[:8<<10-6] + "\n\n", long[:8<<10-6]}, {"data: a\n\n", "a"}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest, err := all(strings.NewReader(tc.in))
			if diff := cmp.Diff(tc.want, got); diff != "" || rest != tc.rest || !errors.Is(err, io.EOF) {
				t.Errorf("%s, %q, %v", diff, rest, err)
			}
		})
	}
}

func TestAnEventHasABound(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), iotest.DataErrReader(zeros{}))
	if _, _, err := all(endless); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an event without end: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// However a stream is cut into reads, its events are the same, and together they are what
// came in.
func TestFramesDoNotDependOnReads(t *testing.T) {
	line := rapid.SampledFrom([]string{"data: a", "data:", "data: {\"x\":1}", ": c", "event: e", "", "", "\r", "data: " + strings.Repeat("y", 9000), "x"})
	rapid.Check(t, func(r *rapid.T) {
		var in strings.Builder
		for _, l := range rapid.SliceOfN(line, 0, 30).Draw(r, "lines") {
			in.WriteString(l + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "end"))
		}
		text := in.String() + rapid.SampledFrom([]string{"", "data: cut", "\r"}).Draw(r, "tail")
		want, rest, _ := all(strings.NewReader(text))
		got, gotRest, err := all(&cut{text, rapid.SliceOfN(rapid.IntRange(1, 5000), 1, 20).Draw(r, "cuts"), 0})
		if diff := cmp.Diff(want, got); diff != "" || rest != gotRest || !errors.Is(err, io.EOF) {
			r.Fatalf("%s, %q and %q, %v", diff, rest, gotRest, err)
		}
		var together strings.Builder
		for _, f := range got {
			together.WriteString(f.Raw)
		}
		if together.String()+rest != text {
			r.Fatalf("%q is not %q", together.String()+rest, text)
		}
	})
}

// cut reads a text in pieces of these sizes, in turns.
type cut struct {
	text  string
	sizes []int
	turn  int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.sizes[c.turn%len(c.sizes)])], c.text)
	c.text, c.turn = c.text[n:], c.turn+1
	return n, nil
}

func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", ": c\r\n\r\ndata: a\ndata: b\n\n", "\n\n\n", "data", "event: e\ndata: {}\n\ndata: [DONE]\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, rest, err := all(bytes.NewReader(in))
		bitwise, restBitwise, _ := all(iotest.OneByteReader(bytes.NewReader(in)))
		if diff := cmp.Diff(whole, bitwise); diff != "" || rest != restBitwise || !errors.Is(err, io.EOF) {
			t.Fatalf("%s, %q and %q, %v", diff, rest, restBitwise, err)
		}
		var together []byte
		for _, f := range whole {
			together = append(together, f.Raw...)
		}
		if string(together)+rest != string(in) {
			t.Fatalf("%q is not %q", string(together)+rest, in)
		}
	})
}

// meters are the three, by the two ways of answering.
var meters = []generation{completions, responses, messages}

// hostile are answers that no provider should give.
var hostile = []string{
	``, `null`, `[]`, `"x"`, `{`, `{}`, `{"usage":null}`, `{"usage":[]}`, `{"usage":"none"}`, `{"usage":{}}`,
	`{"usage":{"prompt_tokens":-5,"completion_tokens":7}}`, `{"usage":{"prompt_tokens":1e300,"completion_tokens":7}}`,
	`{"usage":{"prompt_tokens":1.5,"completion_tokens":"7"}}`, `{"usage":{"prompt_tokens":5,"completion_tokens":7,"cost":-1}}`,
	`{"usage":{"prompt_tokens":5,"completion_tokens":7,"cost":"NaN"}}`, `{"usage":{"prompt_tokens":5,"completion_tokens":7,"cost":1e999}}`,
	`{"usage":{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":99}}}`,
	`{"usage":{"input_tokens":9223372036854775807,"output_tokens":9223372036854775807}}`,
	`{"usage":{"input_tokens":5,"cache_read_input_tokens":-9223372036854775808,"cache_creation_input_tokens":-1,"output_tokens":1}}`,
	`{"type":"message_start","message":null}`, `{"type":"message_start","message":{"usage":{"input_tokens":-1}}}`,
	`{"type":"message_start","message":{"usage":{"input_tokens":100000000,"cache_read_input_tokens":100000000,"output_tokens":-2}}}`,
	`{"type":"message_delta","usage":{"output_tokens":-7}}`, `{"type":"content_block_start","index":-1,"content_block":null}`,
	`{"type":"content_block_start","index":-9223372036854775808,"content_block":{"id":"a","name":"b","input":5}}`,
	`{"type":"content_block_delta","index":99,"delta":{"partial_json":"{"}}`, `{"type":"error"}`,
	`{"type":"response.completed","response":{"usage":{"input_tokens":-1,"output_tokens":-1}}}`,
	`{"type":"response.output_item.done","item":null}`, `{"type":"response.output_item.done","item":[1]}`, `{"type":"response.completed","response":5}`,
	`{"choices":[{"index":-1,"delta":{"tool_calls":[{"index":-1},{"index":9e18},{}]}}]}`, `{"choices":[null,{"delta":null}]}`, `[DONE]`,
	`{"output":[null,5,{"type":"function_call"}],"content":[null,{"id":"a"}]}`, `{"error":"x"}`, `{"error":{"code":1e99}}`,
	"{\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}", strings.Repeat(`{"usage":`, 5000),
}

// sane fails unless what was counted can be charged.
func sane(t *testing.T, m *meter, events int) {
	t.Helper()
	m.settle(100)
	m.Reply()
	u := m.usage(Price{Input: 3, Output: 15, Cached: 0.3, CacheWrite: 3.75}, m.reported == nil)
	for _, n := range []int64{u.InputTokens, u.OutputTokens, u.CachedTokens, u.EstimatedTokens} {
		if n < 0 || n > 3*maxTokens {
			t.Errorf("%+v", u)
		}
	}
	if u.CachedTokens > u.InputTokens || u.EstimatedTokens > u.Tokens() {
		t.Errorf("%+v", u)
	}
	if !(u.CostUSD >= 0 && u.CostUSD <= maxCost) || math.IsNaN(u.CostUSD) {
		t.Errorf("%+v after %d events", u, events)
	}
}

func TestHostileProvidersAreNotBelieved(t *testing.T) {
	for _, g := range meters {
		together := &meter{}
		for _, text := range hostile {
			one, event := &meter{}, &meter{}
			g.whole([]byte(text), one)
			g.event([]byte(text), event)
			g.event([]byte(text), together)
			sane(t, one, 1)
			sane(t, event, 1)
		}
		sane(t, together, len(hostile))
	}
}

// What is wrong in one field does not hide the others.
func TestOddFieldsHideNoUsage(t *testing.T) {
	for _, tc := range []struct {
		g    generation
		text string
	}{
		{completions, `{"model":5,"choices":[{"index":"a","message":{"content":[{"text":"x"}]}}],"usage":{"prompt_tokens":7.0,"completion_tokens":3}}`},
		{responses, `{"model":[],"output":[5],"usage":{"input_tokens":7,"output_tokens":3e0}}`},
		{messages, `{"model":{},"content":"text","usage":{"input_tokens":7,"output_tokens":3}}`},
	} {
		m := &meter{}
		tc.g.whole([]byte(tc.text), m)
		if !m.told || m.input != 7 || m.output != 3 {
			t.Errorf("%s: %+v", tc.g.name, m.tokens)
		}
	}
}

// Some providers tell the usage so far with each chunk: only the last one is all.
func TestUsageSoFarIsNotAll(t *testing.T) {
	m := &meter{}
	chunk := func(text string) { completionChunk([]byte(text), m) }
	chunk(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
	if m.told || !m.prompt {
		t.Error("the first is taken for all")
	}
	cut := meter{tokens: m.tokens, prompt: m.prompt, text: 400}
	if cut.settle(1); cut.input != 9 || cut.output != 100 || cut.estimated != 100 {
		t.Errorf("%+v", cut.tokens)
	}
	chunk(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	if !m.told || m.output != 2 {
		t.Errorf("%+v", m.tokens)
	}
}

// One answer that never ends has a bound, and so have its calls.
func TestAnEndlessAnswerIsNotKept(t *testing.T) {
	m := &meter{}
	piece := strings.Repeat("x", 1<<20)
	for i := range 64 {
		m.Say(piece)
		m.Think(piece)
		m.Call(i, piece, piece, piece)
	}
	for i := range 100_000 {
		m.Call(i, "", "", "")
	}
	r := m.Reply()
	size := len(r.Text) + len(r.Reasoning)
	for _, c := range r.Calls {
		size += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	if size > 16<<20 || len(r.Calls) > 1000 {
		t.Errorf("%d bytes and %d calls are kept", size, len(r.Calls))
	}
}

func FuzzMeters(f *testing.F) {
	for _, text := range hostile {
		f.Add([]byte(text), []byte(`{"type":"message_delta","usage":{"output_tokens":7}}`))
	}
	f.Add([]byte(`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":1}}}`), []byte(`{"type":"message_stop"}`))
	f.Add([]byte(`{"type":"response.output_text.delta","delta":"a"}`), []byte(`{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":3}}}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, g := range meters {
			one, stream := &meter{}, &meter{}
			g.whole(first, one)
			g.event(first, stream)
			g.event(second, stream)
			lasting(stream.err)
			sane(t, one, 1)
			sane(t, stream, 2)
		}
	})
}

func FuzzAsk(f *testing.F) {
	for _, seed := range append(hostile, `{"model":"m","stream":true,"stream_options":null}`, `{"model":"m","messages":[{}],"usage":5}`, `{"a":1,"A":2}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := ask(body)
		if err != nil {
			return
		}
		var plain map[string]json.RawMessage
		if err := json.Unmarshal(body, &plain); err != nil || len(plain) != len(q.fields) {
			t.Fatalf("%d fields, and %d, %v", len(q.fields), len(plain), err)
		}
		if q.bytes > len(body) || q.bytes < 0 {
			t.Fatalf("%d bytes of %d", q.bytes, len(body))
		}
		for _, tells := range []bool{false, true} {
			changed, asked := askForUsage(&provider{tellsCost: tells}, q)
			if asked && !changed {
				t.Fatal("asked for without a change")
			}
			if _, err := json.Marshal(q.fields); err != nil {
				t.Fatal(err)
			}
			if again, _ := askForUsage(&provider{tellsCost: tells}, q); again {
				t.Fatal("changed twice")
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"5", "-1", "99999999999999999999", " 7 ", "Wed, 21 Oct 2015 07:28:00 GMT", "1e3", "9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if pause, _ := retryAfter(text, now); pause < 0 || pause > 24*60*60*1e9 {
			t.Fatal(pause)
		}
	})
}
