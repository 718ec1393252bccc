package config

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "12h": 12 * time.Hour, "2d": 48 * time.Hour,
		"1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "0s": 0, "250ms": 250 * time.Millisecond,
	} {
		if got, err := parseDuration(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "-5s", "5 s", "1y", "s", "1e3s", "99999999999d", "5s ", "inf"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"8GiB": 8 << 30, "512m": 512 << 20, "1k": 1024, "1KB": 1000, "2 GB": 2e9, "1.5g": 3 << 29, "7b": 7, "1TiB": 1 << 40,
	} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "8", "GiB", "-1m", "1x", "1gig", "9999999t", "1bib", "1bb"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestChecks(t *testing.T) {
	for name, test := range map[string]struct {
		check     func(string) error
		good, bad []string
	}{
		"schedule": {checkCron, []string{"0 2 * * *", "*/5 1-3 * * MON"}, []string{"", "@daily", "0 2 * *", "TZ=UTC 2 * * *", "0 0 31 2 *", "61 * * * *"}},
		"target":   {checkTarget, []string{"a:443", "*.a.org:1", "10.0.0.1:65535"}, []string{"a", "a:0", "a:65536", "*:1", "a b:1", "http://a:1"}},
		"template": {checkTemplate, []string{"x", "{{.Prompt}} {{ .TimeLeft }}", "{{- .Model -}}"}, []string{"{{.Nope}}", "{{", "{{printf 1}}", "{{.Model.X}}", "{{define \"a\"}}{{end}}x", "{{.}}", "{{$x := .Model}}"}},
		"image":    {checkImage, []string{"python:3", "a/b@sha256:0"}, []string{"", "a b", "-x"}},
		"local":    {checkLocal, []string{".", "src/", "a/../b"}, []string{"", "/a", "..", "a/../../b"}},
		"file":     {checkFile, []string{"a", "/etc/x"}, []string{"", "/", ".", "../a"}},
		"workdir":  {checkWorkdir, []string{"/workspace"}, []string{"", "/", "x", "/..", "/a:b"}},
		"platform": {checkPlatform, []string{"linux/amd64", "linux/arm/v7"}, []string{"", "linux", "Linux/amd64"}},
		"glob":     {checkGlob, []string{"*", "a/**", "tests/"}, []string{"", "[a"}},
		"package":  {checkPackage, []string{"git", "libc6=2.1"}, []string{"", "-y", "a b", "$(x)"}},
		"repo":     {checkRepo, []string{"a/b.c"}, []string{"a", "a/b/c", "/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range test.good {
				if err := test.check(s); err != nil {
					t.Errorf("%q: %v", s, err)
				}
			}
			for _, s := range test.bad {
				if test.check(s) == nil {
					t.Errorf("%q is accepted", s)
				}
			}
		})
	}
}

func TestSuggestions(t *testing.T) {
	known := []string{"timeout", "tasks", "agent"}
	for given, want := range map[string]string{
		"timeot": `. Did you mean "timeout"?`, "taks": `. Did you mean "tasks"?`, "completely": ".", "": ".",
	} {
		if got := suggest(given, known); got != want {
			t.Errorf("%q: %s", given, got)
		}
	}
}
