package parser

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestArmingRunnersOfNpm: for which commands and settings a test file can be added to a run
// of jest or mocha and is sure to be run.
func TestArmingRunnersOfNpm(t *testing.T) {
	scripts := `{"scripts":{"test":"jest --verbose","unit":"mocha","two":"lint && jest --verbose"}}`
	for _, c := range []struct {
		parser, command, manifest string // manifest "" = none is hidden
		file                      string // another hidden file
		armed                     bool
	}{
		{"jest", "jest --verbose", `{}`, "", true},
		{"jest", "npx jest --verbose --ci --runInBand", `{"jest":{"testTimeout":9}}`, "", true},
		{"jest", "npx --no-install jest --json", `{}`, "", true},
		{"jest", "./node_modules/.bin/jest --verbose 2>&1", `{}`, "", true},
		{"jest", "npm test", scripts, "", true},
		{"jest", "npm test -- --runInBand", scripts, "", true},
		{"jest", "npm run test", scripts, "", true},
		{"jest", "npm test a.test.js", scripts, "", false},
		{"jest", "npm test -- a.test.js", scripts, "", false},
		{"jest", "npm run unit", scripts, "", false},
		{"jest", "npm run two", scripts, "", false},
		{"jest", "npm run none", scripts, "", false},
		{"jest", "npm install", scripts, "", false},
		{"jest", "npm", scripts, "", false},
		{"jest", "npx", scripts, "", false},
		{"jest", "jest", `{}`, "", false}, // with a second file jest names no test any more
		{"jest", "jest --verbose", "", "", false},
		{"jest", "jest --verbose", `[]`, "", false},
		{"jest", "jest --verbose", `null`, "", false},
		{"jest", "cd sub && jest --verbose", `{}`, "", false},
		{"jest", "jest --verbose a.test.js", `{}`, "", false},
		{"jest", "jest --verbose -t one", `{}`, "", false},
		{"jest", "jest --verbose --bail", `{}`, "", false},
		{"jest", "jest --verbose --shard=1/2", `{}`, "", false},
		{"jest", "jest --verbose --config x.json", `{}`, "", false},
		{"jest", "jest --verbose", `{"jest":{"testMatch":["**/x.js"]}}`, "", false},
		{"jest", "jest --verbose", `{"jest":{"verbose":false}}`, "", false},
		{"jest", "jest --verbose", `{"jest":"conf.json"}`, "", false},
		{"jest", "jest --verbose", `{}`, "jest.config.ts", false},
		{"jest", "NODE_OPTIONS=--no-warnings jest --verbose", `{}`, "", false},
		{"jest", "jest --verbose | tee log", `{}`, "", false},
		{"mocha", "mocha", `{}`, "", true},
		{"mocha", "npx mocha --reporter spec --exit", `{}`, "", true},
		{"mocha", "mocha -R json", `{}`, "", true},
		{"mocha", "npm run unit", scripts, "", true},
		{"mocha", "mocha", "", "", false},
		{"mocha", "mocha", `{"mocha":{"spec":"x"}}`, "", false},
		{"mocha", "mocha", `{}`, ".mocharc.yml", false},
		{"mocha", "mocha", `{}`, "test/mocha.opts", false},
		{"mocha", "mocha test/a.js", `{}`, "", false},
		{"mocha", "mocha --bail", `{}`, "", false},
		{"mocha", "mocha -g one", `{}`, "", false},
		{"mocha", "mocha --reporter dot", `{}`, "", false},
		{"mocha", "mocha --reporter", `{}`, "", false},
		{"mocha", "mocha --parallel", `{}`, "", false},
		{"mocha", "MOCHA_OPTIONS=-b mocha", `{}`, "", false},
	} {
		t.Run(c.parser+": "+c.command+" "+c.manifest, func(t *testing.T) {
			hidden := map[string]string{"a.test.js": "", "sub/a.test.js": ""}
			if c.manifest != "" {
				hidden["package.json"] = c.manifest
			}
			if c.file != "" {
				hidden[c.file] = ""
			}
			p, _ := Lookup(c.parser)
			wire, ok := p.Tripwire(Site{
				Command: c.command, Workdir: "/w", Hidden: slices.Collect(maps.Keys(hidden)), Nonce: "5eed",
				Read: func(name string) []byte { return []byte(hidden[name]) },
			})
			if ok != c.armed {
				t.Fatalf("armed %v, want %v", ok, c.armed)
			}
			if !ok {
				return
			}
			dir := map[string]string{"jest": "/w", "mocha": "/w/test"}[c.parser]
			for name, content := range wire.Files {
				pass, fail := marks("5eed")
				if path.Dir(name) != dir || !strings.Contains(content, pass) || !strings.Contains(content, fail) || strings.Contains(content, "@") {
					t.Errorf("%s: %s", name, content)
				}
			}
			if len(wire.Files) != 1 || wire.MustPass("x") || wire.MustFail("x") {
				t.Errorf("unfit tripwire %+v", wire)
			}
		})
	}
}

// TestTripwiresOfNpmAreRecognised: the two tests are found and taken out of what the runners
// print of them, whether or not the submission is right.
func TestTripwiresOfNpmAreRecognised(t *testing.T) {
	pass, fail := marks("5eed")
	site := Site{Workdir: "/w", Hidden: []string{"package.json"}, Nonce: "5eed", Read: func(string) []byte { return []byte(`{}`) }}
	jest := func(added string) string {
		return "PASS ./a.test.js\n  ✓ one\n\nFAIL ./zzz.test.js\n  ✓ " + pass + " (1 ms)\n  " + added + " " + fail +
			"\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       "
	}
	mocha := "\n\n  ✔ one\n  zzz\n    ✔ " + pass + "\n    1) " + fail + "\n\n\n  2 passing (1ms)\n  1 failing\n\n  1) zzz\n       " + fail + ":\n     Error: failed\n"
	for _, c := range []struct {
		name, parser, command, text string
		tampered                    bool
	}{
		{"jest", "jest", "jest --verbose", jest("✕") + "1 failed, 2 passed, 3 total\n", false},
		{"jest that passes everything", "jest", "jest --verbose", jest("✓") + "3 passed, 3 total\n", true},
		{"a whole run of jest, forged", "jest", "jest --verbose", jestRun("PASS a.test.js", "  ✓ one\n", "1 passed, 1"), true},
		{"jest that could not run a file", "jest", "jest --verbose", "PASS a.test.js\n  ✓ one\n\n" + jestRun("FAIL x.test.js", "  ● Test suite failed to run\n\n    x\n", "0"), false},
		{"mocha", "mocha", "mocha", mocha, false},
		{"a whole run of mocha, forged", "mocha", "mocha", "\n\n  ✔ one\n\n\n  1 passing (1ms)\n", true},
		{"a hook of mocha that kept the rest from running", "mocha", "mocha", "\n\n  ✔ one\n  1) \"after each\" hook for \"one\"\n\n\n  1 passing (1ms)\n  1 failing\n\n  1) x\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := Lookup(c.parser)
			site.Command = c.command
			wire, ok := p.Tripwire(site)
			if !ok {
				t.Fatal("not armed")
			}
			rest, reason := wire.Check(p.Parse(output(c.text)))
			if len(rest) == 0 || rest[0].Name != "one" {
				t.Errorf("rest %+v", rest)
			}
			if (reason != "") != c.tampered {
				t.Errorf("reason %q", reason)
			}
		})
	}
}
