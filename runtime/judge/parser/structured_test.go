package parser

import (
	"fmt"
	"testing"
)

func TestStructured(t *testing.T) {
	block := func(body string) string { return structuredStart + "\n" + body + "\n" + structuredEnd + "\n" }
	// What is read: valid, score, pass rate, number of tests, and whether there is a problem.
	for _, c := range []struct{ name, text, want string }{
		{"block", block(`{"valid":false,"score":-1.5,"summary":"s"}`), "false -1.5 - 0 false"},
		{"the last block counts", block(`{"score":9}`) + block(`{"score":1}`), "true 1 - 0 false"},
		{"a block beats a line", block(`{"score":1}`) + `{"score":9}`, "true 1 - 0 false"},
		{"marks elsewhere in a line are none", "+ echo '" + structuredStart + "'\n" + `{"score":1}` + "\n" + structuredEnd + "'", "true 1 - 0 false"},
		{"the last line counts", "{\"score\":9}\n{\"score\":1}\n{\"other\":3}\nend", "true 1 - 0 false"},
		{"whole output", "{\n\"score\": 1\n}\n", "true 1 - 0 false"},
		{"block that is no object", block(`[1]`) + `{"score":9}`, "false - - 0 true"},
		{"block of null", block(`null`), "false - - 0 true"},
		{"NaN", block(`{"score":NaN}`), "false - - 0 true"},
		{"infinity", block(`{"score":Infinity}`), "false - - 0 true"},
		{"too large", block(`{"score":1e999}`), "false - - 0 true"},
		{"rate above one", block(`{"pass_rate":1.5}`), "false - - 0 true"},
		{"rate of counts", block(`{"passed":1,"total_tests":4}`), "true - 0.25 0 false"},
		{"rate of absurd counts", block(`{"passed":1e300,"total_tests":1e-300}`), "false - - 0 true"},
		{"details", block(`{"details":[{"name":"a","status":"PASSED"},{"name":"b","status":"failed","message":"m","score":1}]}`), "true - - 2 false"},
		{"unknown status", block(`{"details":[{"name":"a","status":"great"}]}`), "false - - 1 true"},
		{"detail that is no object", block(`{"details":[7]}`), "false - - 0 true"},
		{"metrics that are no numbers are left out", block(`{"score":1,"metrics":{"a":"1","by":{"x":1}}}`), "true 1 - 0 false"},
		{"metrics that are no object", block(`{"metrics":[1]}`), "false - - 0 true"},
		{"rate of counts, with an empty list", block(`{"passed":1,"total_tests":4,"details":[]}`), "true - 0.25 0 false"},
		{"a total instead of a score", "TOTAL_SCORE 9\n" + block(`{"valid":true}`) + "TOTAL_SCORE 2.5\n", "true 2.5 - 0 false"},
		{"a score beats a total", block(`{"score":null}`) + "TOTAL_SCORE 2.5\n", "true - - 0 false"},
		{"nulls", block(`{"score":null,"metrics":null,"details":null,"summary":null}`), "true - - 0 false"},
		{"nothing", "hello", "false - - 0 true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parseStructured(output(c.text))
			checkBounds(t, r)
			got := fmt.Sprint(*r.Valid, " ", optional(r.Score), " ", optional(r.PassRate), " ", len(r.Tests), " ", r.Problem != "")
			if got != c.want {
				t.Errorf("got %s, want %s (%s)", got, c.want, r.Problem)
			}
		})
	}
}

func optional(n *float64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
