package swebench_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/swebench"
)

func TestPredictionsInEveryForm(t *testing.T) {
	one := swebench.Prediction{Instance: "a__b-1", Model: "m", Patch: []byte("diff")}
	inLine := func(line int) []swebench.Prediction {
		p := one
		p.Line = line
		return []swebench.Prediction{p}
	}
	nameless := []swebench.Prediction{{Instance: "a__b-1", Patch: []byte("diff")}}
	for name, c := range map[string]struct {
		text string
		want []swebench.Prediction
	}{
		"lines":               {"\n" + `{"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff"}` + "\n", inLine(1)},
		"lines after a blank": {"\n\n" + `{"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff"}` + "\n{}", append(inLine(3), swebench.Prediction{Line: 4, Problem: "does not say for which instance it is"})},
		"list":                {`[{"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff"}]`, []swebench.Prediction{one}},
		"by instance":         {`{"a__b-1": {"model_patch": "diff", "model_name_or_path": "m"}}`, []swebench.Prediction{one}},
		"of Live":             {`{"a__b-1": {"model_patch": "diff"}}`, nameless},
		"text by instance":    {`{"a__b-1": "diff"}`, nameless},
		"of Pro":              {`[{"instance_id": "a__b-1", "patch": "diff", "prefix": "m"}]`, []swebench.Prediction{one}},
		"of Multi":            {`{"org": "a", "repo": "b", "number": 1, "fix_patch": "diff"}`, []swebench.Prediction{{Instance: "a__b-1", Patch: []byte("diff"), Line: 1}}},
		"nested names":        {`[{"instance_id": "a/b-1", "model_patch": ""}]`, []swebench.Prediction{{Instance: "a__b-1", Patch: []byte{}}}},
		"null":                {`[{"instance_id": "a__b-1", "model_patch": null}]`, []swebench.Prediction{{Instance: "a__b-1"}}},
		"nothing":             {" \n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := swebench.ReadPredictions(strings.NewReader(c.text))
			if name == "lines" {
				for i := range got {
					got[i].Line = 1 // the only one is read as an object, which is the same
				}
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestMalformedPredictionsAreKeptAndTold(t *testing.T) {
	text := `{"instance_id": "a", "model_patch": "x"}
{"instance_id": "b", "model_patch": ["x"]}
{"instance_id": "c"}
{"instance_id": "d", "model_patch":
{"instance_id": "a", "model_patch": "y"}
{"model_patch": "x"}
`
	got, err := swebench.ReadPredictions(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []swebench.Prediction{
		{Instance: "a", Patch: []byte("x"), Line: 1},
		{Instance: "b", Line: 2, Problem: `"model_patch" is no text`},
		{Instance: "c", Line: 3, Problem: "has no patch"},
		{Line: 4, Problem: "is no JSON object: unexpected end of JSON input"},
		{Instance: "a", Patch: []byte("y"), Line: 5, Problem: "is the second for this instance; the one in line 1 counts"},
		{Patch: []byte("x"), Line: 6, Problem: "does not say for which instance it is"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"[1", `[{"instance_id":}]`} {
		if _, err := swebench.ReadPredictions(strings.NewReader(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestWrittenPredictionsAreReadBack(t *testing.T) {
	want := []swebench.Prediction{
		{Instance: "a", Model: "m <1>", Patch: []byte("diff --git\n+é\r\n"), Line: 1},
		{Instance: "b", Model: "m", Patch: []byte{}, Line: 2},
	}
	var b bytes.Buffer
	err := swebench.WritePredictions(&b, append(want, swebench.Prediction{Instance: "c", Problem: "no"}, swebench.Prediction{Instance: "d", Patch: []byte("\xff")}))
	if err == nil || err.Error() != "the patch for d is no UTF-8, and JSON holds nothing else" {
		t.Errorf("error %v", err)
	}
	got, err := swebench.ReadPredictions(&b)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
