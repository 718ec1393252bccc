package wire

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
	f := NewFrames(r)
	for {
		raw, err := f.Next()
		if err != nil {
			return frames, string(f.raw), err
		}
		frames = append(frames, frame{string(raw), string(Data(raw))})
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
var meters = []Generation{completions, responses, messages}

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
func sane(t *testing.T, m *Meter, events int) {
	t.Helper()
	m.Settle(100)
	m.Reply()
	u := m.Tokens
	for _, n := range []int64{u.Input, u.Output, u.Cached, u.Written, u.Hour, u.Estimated} {
		if n < 0 || n > 3*maxTokens {
			t.Errorf("%+v", u)
		}
	}
	if u.Cached+u.Written > u.Input || u.Hour > u.Written || u.Estimated > u.Input+u.Output {
		t.Errorf("%+v", u)
	}
	if u.Reported != nil && (!(*u.Reported >= 0 && *u.Reported <= MaxCost) || math.IsNaN(*u.Reported)) {
		t.Errorf("%+v: %v USD after %d events", u, *u.Reported, events)
	}
}

func TestHostileProvidersAreNotBelieved(t *testing.T) {
	for _, g := range meters {
		together := &Meter{}
		for _, text := range hostile {
			one, event := &Meter{}, &Meter{}
			g.Whole([]byte(text), one)
			g.Event([]byte(text), event)
			g.Event([]byte(text), together)
			sane(t, one, 1)
			sane(t, event, 1)
		}
		sane(t, together, len(hostile))
	}
}

// What is wrong in one field does not hide the others.
func TestOddFieldsHideNoUsage(t *testing.T) {
	for _, tc := range []struct {
		g    Generation
		text string
	}{
		{completions, `{"model":5,"choices":[{"index":"a","message":{"content":[{"text":"x"}]}}],"usage":{"prompt_tokens":7.0,"completion_tokens":3}}`},
		{responses, `{"model":[],"output":[5],"usage":{"input_tokens":7,"output_tokens":3e0}}`},
		{messages, `{"model":{},"content":"text","usage":{"input_tokens":7,"output_tokens":3}}`},
	} {
		m := &Meter{}
		tc.g.Whole([]byte(tc.text), m)
		if !m.Told || m.Input != 7 || m.Output != 3 {
			t.Errorf("%s: %+v", tc.g.Name, m.Tokens)
		}
	}
}

// Some providers tell the usage so far with each chunk: only the last one is all.
func TestUsageSoFarIsNotAll(t *testing.T) {
	m := &Meter{}
	chunk := func(text string) { completionChunk([]byte(text), m) }
	chunk(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
	if m.Told || !m.prompt {
		t.Error("the first is taken for all")
	}
	cut := Meter{Tokens: m.Tokens, prompt: m.prompt, TextBytes: 400}
	if cut.Settle(1); cut.Input != 9 || cut.Output != 100 || cut.Estimated != 100 {
		t.Errorf("%+v", cut.Tokens)
	}
	chunk(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	if !m.Told || m.Output != 2 {
		t.Errorf("%+v", m.Tokens)
	}
}

// One answer that never ends has a bound, and so have its calls.
func TestAnEndlessAnswerIsNotKept(t *testing.T) {
	m := &Meter{}
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
			one, stream := &Meter{}, &Meter{}
			g.Whole(first, one)
			g.Event(first, stream)
			g.Event(second, stream)
			Lasting(stream.Err)
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
		q, err := ReadQuestion(body)
		if err != nil {
			return
		}
		var plain map[string]json.RawMessage
		if err := json.Unmarshal(body, &plain); err != nil || len(plain) != len(q.Fields) {
			t.Fatalf("%d fields, and %d, %v", len(q.Fields), len(plain), err)
		}
		if q.TextBytes > len(body) || q.TextBytes < 0 {
			t.Fatalf("%d bytes of %d", q.TextBytes, len(body))
		}
		for _, tells := range []bool{false, true} {
			changed, asked := askForUsage(q, tells)
			if asked && !changed {
				t.Fatal("asked for without a change")
			}
			if _, err := json.Marshal(q.Fields); err != nil {
				t.Fatal(err)
			}
			if again, _ := askForUsage(q, tells); again {
				t.Fatal("changed twice")
			}
		}
	})
}
