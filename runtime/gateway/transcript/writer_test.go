package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

var at = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func create(t testing.TB, path string, limit int64) *transcript.Writer {
	t.Helper()
	w, err := transcript.Create(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func fieldsOf(t testing.TB, body any) map[string]json.RawMessage {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func begin(t testing.TB, w *transcript.Writer, protocol string, body any) int {
	t.Helper()
	n, err := w.Begin(at, protocol, "m", true, fieldsOf(t, body))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lines(t testing.TB, path string) (all []transcript.Line) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(text) {
		var l transcript.Line
		from := json.NewDecoder(bytes.NewReader(text))
		from.DisallowUnknownFields()
		if err := from.Decode(&l); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		all = append(all, l)
	}
	return all
}

// again puts each request together from what the file has, by what its format says.
func again(t testing.TB, path string) (bodies []object) {
	t.Helper()
	shared := map[string]json.RawMessage{}
	conversations := map[string][]json.RawMessage{"": nil}
	value := func(s transcript.Shared) json.RawMessage {
		if s.Value != nil {
			shared[s.Name] = s.Value
		} else if s.Name != "" && shared[s.Name] == nil {
			t.Fatalf("%q has no value", s.Name)
		}
		return shared[s.Name]
	}
	for _, l := range lines(t, path) {
		r := l.Request
		if r == nil {
			continue
		}
		before, ok := conversations[r.After]
		if !ok {
			t.Fatalf("request %d follows %q, which nobody has said", l.N, r.After)
		}
		all := append(append([]json.RawMessage{}, before...), r.New...)
		conversations[r.At] = all
		body := object{}
		if settings := value(r.Settings); settings != nil {
			if err := json.Unmarshal(settings, &body); err != nil {
				t.Fatal(err)
			}
		}
		names := [2]string{"messages", "system"}
		if r.Protocol == transcript.Responses {
			names = [2]string{"input", "instructions"}
		}
		var messages []any
		for _, m := range all {
			messages = append(messages, plain(t, m))
		}
		if messages != nil {
			body[names[0]] = messages
		}
		for name, v := range map[string]json.RawMessage{names[1]: value(r.System), "tools": value(r.Tools)} {
			if v != nil {
				body[name] = plain(t, v)
			}
		}
		bodies = append(bodies, body)
	}
	return bodies
}

func plain(t testing.TB, raw json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// unmarked is a body without the marks for caches of its messages, each of whose texts is in
// the form that has a place for them.
func unmarked(v any) any {
	body := reflect.ValueOf(plainCopy(v)).Interface().(object)
	messages, _ := body["messages"].([]any)
	for _, m := range messages {
		unmark(m)
	}
	return body
}

func unmark(m any) {
	fields, ok := m.(object)
	if !ok {
		return
	}
	delete(fields, "cache_control")
	if text, ok := fields["content"].(string); ok {
		fields["content"] = []any{object{"type": "text", "text": text}}
	}
	blocks, _ := fields["content"].([]any)
	for _, b := range blocks {
		unmark(b)
	}
}

func plainCopy(v any) any {
	text, _ := json.Marshal(v)
	var c any
	_ = json.Unmarshal(text, &c)
	return c
}

// turn is a message of a conversation, with a mark or without.
func turn(role, text string, marked bool) object {
	if !marked {
		return object{"role": role, "content": text}
	}
	return object{"role": role, "content": []object{{"type": "text", "text": text, "cache_control": object{"type": "ephemeral"}}}}
}

// Requests can be put together again from what is new in each, whatever conversations they
// are of, in all protocols.
func TestRequestsCanBePutTogetherAgain(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		path := filepath.Join(t.TempDir(), fmt.Sprint(time.Now().UnixNano()))
		w := create(t, path, 1<<30)
		protocol := rapid.SampledFrom([]string{transcript.Completions, transcript.Responses, transcript.Messages}).Draw(r, "protocol")
		name := map[string]string{transcript.Responses: "input"}[protocol]
		if name == "" {
			name = "messages"
		}
		var want []any
		conversations := [][]object{nil}
		for range rapid.IntRange(1, 25).Draw(r, "requests") {
			if rapid.IntRange(0, 9).Draw(r, "reopen") == 0 {
				if err := w.Close(); err != nil {
					r.Fatal(err)
				}
				w = create(t, path, 1<<30)
			}
			// A conversation goes on, or branches off at any point of an earlier one.
			from := rapid.SampledFrom(conversations).Draw(r, "from")
			c := append([]object{}, from[:rapid.IntRange(0, len(from)).Draw(r, "keep")]...)
			for range rapid.IntRange(0, 3).Draw(r, "new") {
				c = append(c, turn(rapid.SampledFrom([]string{"user", "assistant"}).Draw(r, "role"), rapid.SampledFrom([]string{"a", "<b>", "c&é", ""}).Draw(r, "text"), false))
			}
			conversations = append(conversations, c)
			marked := -1
			if protocol == transcript.Messages && len(c) > 0 {
				marked = rapid.IntRange(-1, len(c)-1).Draw(r, "marked")
			}
			messages := []object{}
			for i, m := range c {
				messages = append(messages, turn(m["role"].(string), m["content"].(string), i == marked))
			}
			body := object{"model": "m", "temperature": rapid.SampledFrom([]float64{0, 1}).Draw(r, "t")}
			if len(messages) > 0 {
				body[name] = messages
			}
			if rapid.Bool().Draw(r, "tools") {
				body["tools"] = []object{{"name": "x"}}
			}
			if rapid.Bool().Draw(r, "system") {
				body[map[string]string{"input": "instructions", "messages": "system"}[name]] = rapid.SampledFrom([]string{"be good", "be bad"}).Draw(r, "which")
			}
			begin(t, w, protocol, body)
			want = append(want, unmarked(body))
		}
		var got []any
		for _, body := range again(t, path) {
			got = append(got, unmarked(body))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

// A conversation of n turns takes n times the room of one, also where the marks for caches
// wander through it, and after it was taken up again.
func TestALongConversationTakesLittleRoom(t *testing.T) {
	for name, marks := range map[string]bool{"without marks": false, "with marks that wander": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			w := create(t, path, 1<<30)
			const mark = `,"cache_control":{"type":"ephemeral"}`
			message := func(k int, marked bool) string {
				with := ""
				if marked {
					with = mark
				}
				text := fmt.Sprintf(`"message %d, %s"`, k, strings.Repeat("word ", 10))
				switch {
				case k%2 == 0 && k > 0: // a result of a tool, whose block may be marked
					return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"%d","content":%s%s}]}`, k, text, with)
				case marked:
					return `{"role":"assistant","content":[{"type":"text","text":` + text + with + `}]}`
				}
				return `{"role":"assistant","content":` + text + `}`
			}
			var said []string
			size := func(turns int) int64 {
				for i := turns - 250; i < turns; i++ {
					if i == 100 {
						if err := w.Close(); err != nil {
							t.Fatal(err)
						}
						w = create(t, path, 1<<30)
					}
					for len(said) <= i {
						said = append(said, message(len(said), false))
					}
					messages := append([]string{}, said...)
					for k := max(0, i-1); marks && k <= i; k++ {
						messages[k] = message(k, true)
					}
					if _, err := w.Begin(at, transcript.Messages, "m", true, map[string]json.RawMessage{
						"model": json.RawMessage(`"m"`), "system": json.RawMessage(`[{"type":"text","text":"be good"` + mark + `}]`),
						"messages": json.RawMessage("[" + strings.Join(messages, ",") + "]"),
					}); err != nil {
						t.Fatal(err)
					}
				}
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			half, whole := size(250), size(500)
			if whole > half*22/10 {
				t.Errorf("250 turns take %d bytes, 500 take %d", half, whole)
			}
			if most := int64(500 * 1000); whole > most {
				t.Errorf("500 turns take %d bytes, more than %d", whole, most)
			}
		})
	}
}

// What is a mark on a block is a word of its own in what a tool is called with.
func TestOnlyMarksAreMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, 1<<30)
	for _, hidden := range []string{"a", "b"} {
		begin(t, w, transcript.Messages, object{"messages": []object{{"role": "assistant", "content": []object{
			{"type": "tool_use", "id": "1", "name": "x", "input": object{"cache_control": hidden, "n": 9007199254740993}},
		}}}})
	}
	if text, _ := os.ReadFile(path); !bytes.Contains(text, []byte(`"cache_control":"b"`)) {
		t.Errorf("the second is taken for the first: %s", text)
	}
}

// Hostile messages take no more time than others of their size.
func TestDeepMessagesAreNoMoreWork(t *testing.T) {
	deep := strings.Repeat(`{"content":[`, 4000) + strings.Repeat(`]}`, 4000)
	w := create(t, filepath.Join(t.TempDir(), "t.jsonl"), 1<<30)
	begun := time.Now()
	fields := map[string]json.RawMessage{"messages": json.RawMessage("[" + strings.Repeat(deep+",", 20) + deep + "]")}
	if _, err := w.Begin(at, transcript.Messages, "m", false, fields); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A daemon that is killed leaves a line half written: the next one goes on before it.
func TestATornTailIsTakenOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, 1<<30)
	begin(t, w, transcript.Completions, object{"messages": []object{turn("user", "first", false)}})
	if err := w.End(at, 1, transcript.Response{Status: 200}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		torn := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(torn, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := transcript.Create(torn, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadFile(torn); len(left) > 0 && left[len(left)-1] != '\n' {
			t.Fatalf("cut at %d: left is %q", cut, left)
		}
		n := begin(t, w, transcript.Completions, object{"messages": []object{turn("user", "first", false), turn("user", "second", false)}})
		_ = w.Close()
		all := lines(t, torn)
		last := all[len(all)-1]
		if kept := bytes.Count(whole[:cut], []byte("\n")); len(all) != kept+1 || last.N != n || n != min(kept, 1)+1 {
			t.Fatalf("cut at %d: %d lines, exchange %d", cut, len(all), n)
		}
		if want := []int{2, 1}[min(bytes.Count(whole[:cut], []byte("\n")), 1)]; len(last.Request.New) != want {
			t.Errorf("cut at %d: %d messages are new", cut, len(last.Request.New))
		}
	}
}

// A machine that loses its power may leave zeros in the middle. The rest is good.
func TestWhatIsNoLineIsPassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, 1<<30)
	begin(t, w, transcript.Completions, object{"messages": []object{turn("user", "first", false)}})
	_ = w.Close()
	text, _ := os.ReadFile(path)
	broken := append(append(make([]byte, 100), '\n'), text...)
	if err := os.WriteFile(path, broken, 0o644); err != nil {
		t.Fatal(err)
	}
	w = create(t, path, 1<<30)
	if n := begin(t, w, transcript.Completions, object{"messages": []object{turn("user", "first", false), turn("user", "second", false)}}); n != 2 {
		t.Errorf("the exchange is %d", n)
	}
	if steps, err := transcript.Trajectory(&bytes.Buffer{}, open(t, path), transcript.Info{}); err != nil || steps != 2 {
		t.Errorf("%d steps, %v", steps, err)
	}
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// What is beyond the bound is not kept, and what is kept is whole.
func TestATranscriptHasABound(t *testing.T) {
	const limit = 20_000
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, limit)
	refused := 0
	var messages []object
	for i := range 100 {
		messages = append(messages, turn("user", fmt.Sprint(i, strings.Repeat("x", 500)), false))
		n, err := w.Begin(at, transcript.Completions, "m", false, fieldsOf(t, object{"messages": messages}))
		if n != i+1 {
			t.Fatalf("exchange %d is %d", i+1, n)
		}
		if errors.Is(err, transcript.ErrFull) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > limit || info.Size() < limit-2000 || refused < 50 {
		t.Errorf("%v bytes, %d refused, %v", info.Size(), refused, err)
	}
	again(t, path)
}

// Exchanges of many goroutines are whole lines, each with its own number.
func TestManyMayWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	w := create(t, path, 1<<30)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var messages []object
			for k := range 20 {
				messages = append(messages, turn("user", fmt.Sprintf("%d of %d", k, i), false))
				n, err := w.Begin(at, transcript.Completions, "m", true, fieldsOf(t, object{"messages": messages}))
				if err = errors.Join(err, w.End(at, n, transcript.Response{Status: 200, Reply: &transcript.Reply{Text: fmt.Sprint(n)}})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	asked, answered := map[int]bool{}, map[int]bool{}
	for _, l := range lines(t, path) {
		if l.Request != nil {
			asked[l.N] = true
			if len(l.Request.New) != 1 {
				t.Errorf("%d messages are new in %d", len(l.Request.New), l.N)
			}
		} else {
			answered[l.N] = asked[l.N]
		}
	}
	if len(asked) != 400 || len(answered) != 400 {
		t.Errorf("%d asked, %d answered", len(asked), len(answered))
	}
	again(t, path)
}

// Code is kept as it is, without an eye on HTML.
func TestCodeIsReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	fields := map[string]json.RawMessage{"messages": json.RawMessage(`[{"role":"user","content":"if a < b && c > d"}]`)}
	if _, err := create(t, path, 1<<30).Begin(at, transcript.Completions, "m", true, fields); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); !bytes.Contains(text, []byte("if a < b && c > d")) {
		t.Errorf("%s", text)
	}
}
