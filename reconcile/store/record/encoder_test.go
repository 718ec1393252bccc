package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// encoder replaces one secret, and keeps long values in a map by a made-up digest.
func encoder(kept map[string]string) Encoder {
	return Encoder{
		Redact: func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`se"cret`), []byte("***")) },
		Keep: func(value []byte) (file, digest string, err error) {
			kept["lists/d"] = string(value)
			return "lists/d", "d", nil
		},
	}
}

// A line begins with its head, has the members of the record in order, and shows no secret, escaped or not.
func TestALineIsItsHeadAndItsRecord(t *testing.T) {
	e := encoder(nil)
	line, err := e.Line(Head{V: 1, Seq: 7, Time: "now", Type: "x", Spec: "run.a", Generation: "g", Execution: "e1"}, map[string]any{"b": `a se"cret <`, "a": 1})
	want := `{"v":1,"seq":7,"time":"now","type":"x","spec":"run.a","generation":"g","execution":"e1","a":1,"b":"a *** <"}`
	if err != nil || string(line) != want {
		t.Errorf("%s, %v", line, err)
	}
	if line, err := e.Line(Head{V: 1}, nil); err != nil || !json.Valid(line) || strings.Contains(string(line), "execution") {
		t.Errorf("without a record: %s, %v", line, err)
	}
	for name, record := range map[string]any{"no object": 1, "a name of the head": map[string]int{"seq": 1}, "no number of JSON": map[string]float64{"x": math.NaN()}} {
		if line, err := e.Line(Head{}, record); err == nil {
			t.Errorf("%s is encoded: %s", name, line)
		}
	}
}

// What is too long for a line is in a file, and the line names it.
func TestALongListIsKeptInAFile(t *testing.T) {
	kept := map[string]string{}
	list := make([]string, 10_000)
	for i := range list {
		list[i] = strings.Repeat("x", 40)
	}
	line, err := encoder(kept).Line(Head{V: 1}, map[string]any{"tests": list})
	if err != nil || !strings.HasSuffix(string(line), `"tests":{"file":"lists/d","sha256":"d"}}`) || !strings.HasPrefix(kept["lists/d"], `["xxxx`) {
		t.Errorf("%d bytes are kept, and the line is %.200s, %v", len(kept["lists/d"]), line, err)
	}
}

// A column is JSON without secrets, and nothing where there is no data.
func TestAColumnShowsNoSecret(t *testing.T) {
	e := encoder(nil)
	for in, want := range map[string]any{``: nil, `{"a":["se\"cret",1]}`: `{"a":["***",1]}`} {
		if got, err := e.Column(json.RawMessage(in)); err != nil || got != want {
			t.Errorf("%s becomes %v, %v", in, got, err)
		}
	}
	if got, err := e.Column(json.RawMessage(`{`)); err == nil {
		t.Errorf("what is no JSON becomes %v", got)
	}
	if got := (Encoder{}).Text([]byte(`se"cret`)); string(got) != `se"cret` {
		t.Errorf("without secrets: %s", got)
	}
}
