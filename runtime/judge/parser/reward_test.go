package parser

import (
	"maps"
	"strings"
	"testing"
)

// files makes an input of result files: name, content, name, content.
func files(pairs ...string) Input {
	in := Input{Files: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		in.Files[pairs[i]] = []byte(pairs[i+1])
	}
	return in
}

func TestReward(t *testing.T) {
	const text, object = "/logs/verifier/reward.txt", "/logs/verifier/reward.json"
	score := func(n float64) *float64 { return &n }
	for _, c := range []struct {
		name    string
		in      Input
		score   *float64
		rate    float64
		metrics map[string]float64
		problem string
	}{
		{"a number", files(text, " 0.5\n"), score(0.5), 0.5, nil, ""},
		{"more than one", files(text, "12"), score(12), 1, nil, ""},
		{"negative", files(text, "-3e0"), score(-3), 0, nil, ""},
		{"in the working directory", files("reward.txt", "1"), score(1), 1, nil, ""},
		{"an object", files(object, `{"reward": 0.25, "speed": 7, "loss": -1}`), score(0.25), 0.25, map[string]float64{"speed": 7, "loss": -1}, ""},
		{"an object of one number", files(object, `{"accuracy": 1}`), score(1), 1, nil, ""},
		{"both", files(text, "1.0\n", object, `{"reward": 1, "speed": 7}`), score(1), 1, map[string]float64{"speed": 7}, ""},
		{"an object beside the judge's number", files(text, "0", object, `{"reward": 1}`), nil, 0, nil, "do not say the same"},
		{"a number beside the judge's object", files(text, "1", object, `{"reward": 0}`), nil, 0, nil, "do not say the same"},
		{"nothing beside the judge's object", files(text, "", object, `{"reward": 1}`), nil, 0, nil, "do not say the same"},
		{"the convention wins", files("reward.json", `{"reward": 1}`, text, "0"), score(0), 0, nil, ""},
		{"several numbers and none called reward", files(object, `{"a": 1, "b": 2}`), nil, 0, map[string]float64{"a": 1, "b": 2}, "no number called reward"},
		{"a number that is none", files(object, `{"reward": 1, "a": "1"}`), nil, 0, nil, "a is not a number"},
		{"reward is none", files(object, `{"reward": null, "a": 1}`), nil, 0, nil, "reward is not a number"},
		{"an empty object", files(object, `{}`), nil, 0, nil, "no number called reward"},
		{"no object", files(object, `1`), nil, 0, nil, "no object"},
		{"infinite in an object", files(object, `{"reward": 1e999}`), nil, 0, nil, "not a number"},
		{"NaN in an object", files(object, `{"reward": NaN}`), nil, 0, nil, "no object"},
		{"empty", files(text, ""), nil, 0, nil, "no finite number"},
		{"infinite", files(text, "inf"), nil, 0, nil, "no finite number"},
		{"too large", files(text, "1e999"), nil, 0, nil, "no finite number"},
		{"NaN", files(text, "nan"), nil, 0, nil, "no finite number"},
		{"two numbers", files(text, "1 2"), nil, 0, nil, "no finite number"},
		{"no file, whatever is printed", output("reward 1\n"), nil, 0, nil, "no reward file"},
		{"out of time", Input{Files: files(text, "1").Files, TimedOut: true}, nil, 0, nil, "out of time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parseReward(c.in)
			if (r.Score == nil) != (c.score == nil) || r.Score != nil && (*r.Score != *c.score || *r.PassRate != c.rate) {
				t.Errorf("score %v, rate %v", r.Score, r.PassRate)
			}
			if r.Score == nil && r.PassRate != nil {
				t.Errorf("a rate of %v without a score", *r.PassRate)
			}
			if c.metrics != nil && !maps.Equal(r.Metrics, c.metrics) {
				t.Errorf("metrics %v", r.Metrics)
			}
			if r.Complete != (c.problem == "") || !strings.Contains(r.Problem, c.problem) || len(r.Tests) > 0 {
				t.Errorf("complete %v, problem %q, tests %v", r.Complete, r.Problem, r.Tests)
			}
		})
	}
}
