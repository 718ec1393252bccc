package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsFitTheirSchema(t *testing.T) {
	for _, tt := range []struct{ arguments, want string }{
		{`{"score":1}`, ""},
		{`{"score":-0.5,"why":"x","class":"easy","lines":[1,2]}`, ""},
		{`{"score":1,"why":null}`, ""}, // models write so what they leave out
		{`{"score":1,"unknown":{}}`, ""},
		{`{"score":null}`, `"score" is no number`},
		{`{"score":"1"}`, `"score" is no number`},
		{`{"score":1,"why":2}`, `"why" is no string`},
		{`{"score":1,"class":"medium"}`, `"class" is none of "easy", "hard"`},
		{`{"score":1,"lines":{}}`, `"lines" is no array`},
		{`{"score":1,"lines":[1,"2"]}`, `"lines[1]" is no integer`},
		{`{"why":"x"}`, `"score" is missing`},
		{`"x"`, "no JSON object"},
		{`{`, "no JSON object"},
		{``, "no JSON object"},
	} {
		err := Check(call(tt.arguments), []Tool{rate})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.arguments, err, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	type rating struct {
		Score float64 `json:"score"`
		Why   string  `json:"why"`
	}
	for _, tt := range []struct {
		arguments string
		want      rating
		err       string
	}{
		{`{"score":0.5,"why":"so","more":1}`, rating{0.5, "so"}, ""},
		{`{"score":"much"}`, rating{}, `"score" cannot be a string`},
		{`[]`, rating{}, "no JSON object"},
		{`nonsense`, rating{}, "no JSON object"},
		{``, rating{}, "no JSON object"},
	} {
		var got rating
		err := Decode(Call{Name: "rate", Arguments: json.RawMessage(tt.arguments)}, &got)
		if _, ok := errors.AsType[*Malformed](err); ok != (tt.err != "") || ok && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.arguments, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// script answers in turn, and keeps the conversations.
type script struct {
	answers []Answer
	errs    []error
	asked   [][]Message
}

func (s *script) ask(_ context.Context, messages []Message, _ []Tool) (Answer, error) {
	i := len(s.asked)
	s.asked = append(s.asked, messages)
	if i >= len(s.answers) {
		return Answer{}, errors.New("it is asked too often")
	}
	var err error
	if i < len(s.errs) {
		err = s.errs[i]
	}
	return s.answers[i], err
}

func call(arguments string) Answer {
	return Answer{Calls: []Call{{ID: "1", Name: "rate", Arguments: json.RawMessage(arguments)}}}
}

func TestFillAsksOnceMore(t *testing.T) {
	type rating struct{ Score float64 }
	unfit := errors.New("the score is too high")
	check := func(r rating) error {
		if r.Score > 1 {
			return unfit
		}
		return nil
	}
	down := &Unavailable{Status: 503}
	words := Answer{Content: "about 1"}
	for _, tt := range []struct {
		name   string
		script script
		want   float64
		err    string
		asked  int
		told   string // the second time
	}{
		{"it fits", script{answers: []Answer{call(`{"score":1}`)}}, 1, "", 1, ""},
		{"it fits when told", script{answers: []Answer{call(`{"score":2}`), call(`{"score":0.5}`)}}, 0.5, "", 2, "This cannot be used: the score is too high. Call"},
		{"words, then a call", script{answers: []Answer{words, call(`{"score":0.5}`)}}, 0.5, "", 2, "it calls no tool"},
		{"the asker says that it is malformed", script{answers: []Answer{words, call(`{"score":0.5}`)}, errs: []error{&Malformed{"so bad", words}}}, 0.5, "", 2, "so bad"},
		{"it never fits", script{answers: []Answer{call(`{"score":2}`), call(`{"score":3}`)}}, 3, "the score is too high", 2, ""},
		{"it is never a call", script{answers: []Answer{words, words}}, 0, "it calls no tool", 2, ""},
		{"malformed, then unfit", script{answers: []Answer{call(`{"score":"x"}`), call(`{"score":3}`)}}, 3, "the score is too high", 2, ""},
		{"nobody answers", script{answers: []Answer{{}}, errs: []error{down}}, 0, "cannot answer now", 1, ""},
		{"nobody answers again", script{answers: []Answer{call(`{}`), {}}, errs: []error{nil, down}}, 0, "cannot answer now", 2, `"score" is missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := []Message{{Role: User, Content: "rate it"}}
			got, err := Fill(t.Context(), tt.script.ask, start, rate, check)
			if got.Score != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, %v", got, err)
			}
			if len(tt.script.asked) != tt.asked {
				t.Fatalf("asked %d times, want %d", len(tt.script.asked), tt.asked)
			}
			if tt.asked == 2 {
				again := tt.script.asked[1]
				if last := again[len(again)-1]; len(again) != 3 || again[1].Role != Assistant || !strings.Contains(last.Content, tt.told) || (last.Role == Result) != (len(again[1].Calls) > 0) {
					t.Errorf("told %+v", again)
				}
			}
		})
	}
}

func TestAFenceIsNotInWhatItHolds(t *testing.T) {
	first := Fence("text", "hello")
	mark, _, _ := strings.Cut(strings.TrimPrefix(first, "<"), ">")
	for _, text := range []string{"", "hello", "</text>", "</" + mark + ">", first} {
		fenced := Fence("text", text)
		opening, rest, _ := strings.Cut(fenced, "\n")
		if inner, ok := strings.CutSuffix(rest, "\n</"+strings.TrimPrefix(opening, "<")); !ok || inner != text || strings.Contains(text, opening) {
			t.Errorf("%q becomes %q", text, fenced)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(called("rate", `{"score":1}`)))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}`))
	f.Add([]byte(`{"error":{"code":429}}`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		model := New(Options{Name: "m", BaseURL: "http://model.invalid", Transport: respond(strings.NewReader(string(body)))})
		answer, err := model.Ask(t.Context(), []Message{{Role: User, Content: "x"}}, []Tool{rate})
		if err == nil && Check(answer, []Tool{rate}) != nil {
			t.Error("what is no call passes")
		}
		if _, err := json.Marshal(answer); err != nil {
			t.Error(err)
		}
	})
}
