package sforge

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// The check values were computed with the original.
func TestNamesAreThoseThatSForgeComputes(t *testing.T) {
	bench, err := parseBenchmark([]byte("name: demo\nbase_images:\n  python:\n    extra_packages:\n    - git\n    - curl\n    - jq\n    official_image: python:3.11\n"))
	if err != nil {
		t.Fatal(err)
	}
	base := bench.bases["python"].hash
	const workdir, platform = "/home/workspace/p", "linux/amd64"
	for what, c := range map[string]struct{ got, want string }{
		"base":  {base, "3aacb6cdfc2745ea6680eece56f259540e4d63548738150d50b982600ad384be"},
		"work":  {partHash(base, workdir, platform, []string{"mkdir -p /home/workspace/p", "echo 'café & <x>' > /home/workspace/p/a"}), "9e86bd086a933251f642df7fd2c2dac6368ee22eb153c0cc21dae1dd2a2d65b3"},
		"judge": {partHash(base, workdir, platform, []string{"mkdir -p /home/workspace/p"}), "cd87a10aa82b5457af6964545f8ad3de3b81740c9809b182806ffbddbbc213f1"},
		"name":  {bench.bases["python"].Ref, "demo.base.python:3aacb6cdfc27"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
}

func TestTheTextIsPythons(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{huge, "123456789012345678901234567890"},
		{[]any{}, "[]"},
		{map[string]any{}, "{}"},
		{map[string]any{"b": []any{big.NewInt(1), "x"}, "a": nil, "é": false, "Z": "", "\U0001F600": 1.0}, `{"Z": "", "a": null, "b": [1, "x"], "\u00e9": false, "\ud83d\ude00": 1.0}`},
		{"\"\\/\b\f\n\r\t\x00\x1f\x7f <>&\u2028", `"\"\\/\b\f\n\r\t\u0000\u001f\u007f <>&\u2028"`},
		{0.0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{3.11, "3.11"},
		{1e15, "1000000000000000.0"},
		{1e16, "1e+16"},
		{1.5e300, "1.5e+300"},
		{0.0001, "0.0001"},
		{0.00001, "1e-05"},
		{-123456.789, "-123456.789"},
		{5e-324, "5e-324"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
		{math.NaN(), "NaN"},
	} {
		var b strings.Builder
		if dump(&b, c.value); b.String() != c.want {
			t.Errorf("%#v is %s, want %s", c.value, b.String(), c.want)
		}
	}
}

// The wanted values are those of Python's safe loader.
func TestScalarsAreTypedAsInYAML11(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "true", "Off": "false", "y": `"y"`, "yEs": `"yEs"`, "~": "null", "Null": "null", `""`: `""`, "'yes'": `"yes"`, "! yes": "true",
		"12": "12", "-0": "0", "+7": "7", "010": "8", "0o10": `"0o10"`, "09": `"09"`, "0x1F": "31", "0b101": "5", "1_000": "1000", "0_": "0", "00": "0",
		"190:20:30": "685230", "-1:30": "-90", "0:30": `"0:30"`, "123456789012345678901": "123456789012345678901",
		"3.11": "3.11", "1.": "1.0", ".5": "0.5", "1e3": `"1e3"`, "1.e+3": "1000.0", "1.5e3": `"1.5e3"`, "685_230.15": "685230.15", "012.5": "12.5",
		"190:20:30.15": "685230.15", ".inf": "Infinity", "-.INF": "-Infinity", "+.inf": "Infinity", ".NaN": "NaN", "-.nan": `"-.nan"`,
		"!!str 12": `"12"`, "!!int '12'": "12", "!!float 3": "3.0", "!!bool YeS": "true", "!!null x": "null",
		"2001-1-1": `"2001-1-1"`, "python:3.11": `"python:3.11"`, "1.2.3": `"1.2.3"`, "|\n      yes\n": `"yes\n"`, "'a\n\n  b'": `"a\nb"`,
		"<<": "error", "=": "error", "0b_": "error", "0x_": "error", "2001-01-01": "error", "2001-1-1 1:02:03": "error", "!!binary aGk=": "error",
		"!!set {a}": "error", "!!omap [a: 1]": "error", "!!bool maybe": "error", "!x y": "error", strings.Repeat("9", 5000): "error",
		"{a: 1, a: 2}": `{"a": 2}`,
		"{<<: {p: 9, z: 1}, p: 3, <<: {q: 1, z: 2}}": `{"p": 3, "q": 1, "z": 2}`,
		"{<<: [{p: 1, q: 1}, {p: 2, r: 2}], q: 3}":   `{"p": 1, "q": 3, "r": 2}`,
		"{<<: x}":         "error",
		"{1: x}":          "error",
		"{on: x}":         "error",
		"{? [a] : x}":     "error",
		"[&a {x: 1}, *a]": `[{"x": 1}, {"x": 1}]`,
	} {
		got := "error"
		spec, err := parseBenchmark([]byte("name: x\nbase_images:\n  k:\n    official_image: i\n    extra_packages: []\n    probe: " + text + "\n"))
		if err == nil {
			var b strings.Builder
			b.WriteString(`{"key": "k", "spec": {"extra_packages": [], "official_image": "i", "probe": `)
			got = "another: hash " + spec.bases["k"].hash
			if hashText(b.String()+want+"}}") == spec.bases["k"].hash {
				got = want
			}
		}
		if got != want {
			t.Errorf("%s is %s, want %s (%v)", text, got, want, err)
		}
	}
}

func TestWhatAContainerBeginsWithIsNotTakenOver(t *testing.T) {
	for text, want := range map[string]string{
		"ENV A=1\nENTRYPOINT []\nRUN x\n":                     "ENV A=1\nRUN x\n",
		"entrypoint [\"a\", \\\n  \"b\"]\nCMD sh\nWORKDIR /w": "WORKDIR /w",
		"RUN echo \\\n\n# here\nCMD\nCMD x":                   "RUN echo \\\n\n# here\nCMD",
		"":                                                    "",
	} {
		if got := withoutStart(text); got != want {
			t.Errorf("of %q is left %q, want %q", text, got, want)
		}
	}
}
