package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// evaluated returns what a file makes of an expression, as the user of an agent.
func evaluated(t *testing.T, locals, expression string) (string, Diagnostics) {
	t.Helper()
	root := t.TempDir()
	text := fmt.Sprintf("locals {\n%s\n}\nagent \"a\" {\n command = \"x\"\n user = %s\n}\n", locals, expression)
	write(t, root, at("a.hcl", text), at("f.txt", "from file"))
	in := Input{Path: filepath.Join(root, "a.hcl"), Display: "a.hcl", Root: root, Text: []byte(text)}
	set := Load([]Input{in}, nil, testOptions())
	if a := set.Agent("a"); a != nil {
		return a.User, set.Diagnostics
	}
	return "", set.Diagnostics
}

func TestExpressions(t *testing.T) {
	const locals = `
		list = ["a", "b", "c"]
		map  = { one = { n = 1 }, "two" = { n = 2 }, (upper("three")) = { n = 3 } }
		yes  = true`
	for expression, want := range map[string]string{
		`"${local.list[1]}-${local.map.one.n}"`:                                  "b-1",
		`join(",", [for i, x in local.list : "${i}${x}" if x != "b"])`:           "0a,2c",
		`join(",", keys({ for k, v in local.map : upper(k) => v... }))`:          "ONE,THREE,TWO",
		`join(",", [for x in values(local.map)[*].n : format("%02d", x)])`:       "03,01,02",
		`jsonencode(values(local.map)[*])`:                                       `[{"n":3},{"n":1},{"n":2}]`,
		`local.yes && !false ? "t" : "f"`:                                        "t",
		`"%{for x in local.list}[${x}]%{endfor}%{if local.yes}!%{endif}"`:        "[a][b][c]!",
		`format("%s", -(1 + 2) * 3)`:                                             "-9",
		`jsonencode({ a = local.map.two, "b" = null, (local.list[0]) = 1 })`:     `{"a":1,"b":null}`,
		`join("", concat(local.list, ["d"]...))`:                                 "",
		`file("f.txt")`:                                                          "from file",
		`"${local.map["THREE"].n}!"`:                                             "3!",
		`local.list[length(local.list) - 1]`:                                     "c",
		`join(",", formatlist("%s=%s", local.list, "v"))`:                        "a=v,b=v,c=v",
		`join(",", [for p in setproduct(local.list, ["x", "y"]) : join("", p)])`: "ax,ay,bx,by,cx,cy",
		`replace(indent(2, "a\nb"), "b", "c")`:                                   "a\n  c",
		`split("-", "p-q")[1]`:                                                   "q",
		`jsondecode("{\"k\": [1, 2]}").k[1] == 2 ? "two" : "other"`:              "two",
		`join("|", regexall("[0-9]+", "a1b22"))`:                                 "1|22",
		`regex_replace("abc", "(b)", "<$1>")`:                                    "a<b>c",
	} {
		got, ds := evaluated(t, locals, expression)
		if want == "" {
			if !ds.HasErrors() {
				t.Errorf("%s is %q, want an error", expression, got)
			}
		} else if got != want {
			t.Errorf("%s is %q, want %q: %v", expression, got, want, ds)
		}
	}
}

// A small text never takes much memory, nor long.
func TestLittleTextsMakeNoLargeValues(t *testing.T) {
	doubling := func(form string) string {
		var b strings.Builder
		b.WriteString("a0 = \"xxxxxxxxxxxxxxxx\"\n")
		for i := range 60 {
			b.WriteString(strings.NewReplacer("NEW", fmt.Sprintf("a%d", i+1), "OLD", fmt.Sprintf("local.a%d", i)).Replace(form) + "\n")
		}
		return b.String()
	}
	long := "long = join(\"\", [for i in range(1000) : \"" + strings.Repeat("x", 1000) + "\"])\n"
	for name, test := range map[string]struct{ locals, expression string }{
		"text":          {doubling(`NEW = "${OLD}${OLD}"`), `"x"`},
		"lists":         {doubling(`NEW = [OLD, OLD]`), `"x"`},
		"maps":          {doubling(`NEW = { a = OLD, b = OLD }`), `"x"`},
		"join":          {doubling(`NEW = join(OLD, [OLD, OLD])`), `"x"`},
		"json":          {doubling(`NEW = jsonencode([OLD])`), `"x"`},
		"squares":       {doubling(`NEW = replace(OLD, "x", OLD)`), `"x"`},
		"numbers":       {"n = 1e300000000", `"${local.n}!"`},
		"products":      {"n0 = 1e300000\n" + strings.ReplaceAll(doubling(`NEW = OLD * OLD`), `"xxxxxxxxxxxxxxxx"`, "local.n0"), `"x"`},
		"width":         {"", `format("%999999999d", 1)`},
		"precision":     {"", `format("%.999999999f", 1)`},
		"infinite":      {"", `format("%` + strings.Repeat("9", 400) + `d", 1)`},
		"arguments":     {long, `format("` + strings.Repeat("%[1]s", 1000) + `", local.long)`},
		"format list":   {long, `join("", formatlist("%s%s", split("", local.long), local.long))`},
		"indent":        {"", `indent(999999999, "a\nb")`},
		"loops":         {"", `join("", flatten([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : "x"]]]))`},
		"loops of text": {long, `join("", [for a in range(1000) : "${local.long}!"])`},
		"template loop": {long, `"%{for a in range(1000)}${local.long}%{endfor}"`},
		"product":       {"r = range(1000)", `jsonencode(setproduct(local.r, local.r, local.r, local.r))`},
		"distinct":      {long, `join("", distinct(split("", local.long)))`},
		"separator":     {long, `join(local.long, range(1000))`},
		"every place":   {long, `regex_replace(local.long, "", local.long)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, ds := evaluated(t, test.locals, test.expression)
			if len(ds) != 1 || ds[0].Summary != "Too large a value" {
				t.Errorf("%v", ds)
			}
		})
	}
}
