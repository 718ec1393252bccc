package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
)

// say logs one line at each level, with what the daemon puts on its lines.
func say(log *slog.Logger) {
	log = log.With("spec", "run.a")
	for _, level := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug, levelTrace} {
		log.WithGroup("of").Log(context.Background(), level, "two\nlines", "trial", "a.e1.01234567")
	}
}

func TestLogFormats(t *testing.T) {
	t.Setenv("JOURNAL_STREAM", "")
	for _, test := range []struct {
		name, journal string
		o             config.Log
		want          []string // beginning and end of each line, after the time
	}{
		{"text", "", config.Log{Level: "warn", Format: "text"}, []string{
			`level=ERROR msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
			`level=WARN msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
		}},
		{"no terminal and no journal", "", config.Log{Level: "error"}, []string{
			`level=ERROR msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
		}},
		{"journald", "", config.Log{Level: "trace", Format: "journald"}, []string{
			`<3>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
			`<4>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
			`<6>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
			`<7>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
			`<7>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
		}},
		{"under systemd", "8:1", config.Log{Level: "error"}, []string{`<3>msg="two\nlines" spec=run.a of.trial=a.e1.01234567`}},
		{"the settings come before systemd", "8:1", config.Log{Level: "error", Format: "text"}, []string{
			`level=ERROR msg="two\nlines" spec=run.a of.trial=a.e1.01234567`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("JOURNAL_STREAM", test.journal)
			var out bytes.Buffer
			log, err := logger(&out, test.o)
			if err != nil {
				t.Fatal(err)
			}
			say(log)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(test.want), &out)
			}
			for i, line := range lines {
				if _, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(line, "time=") {
					line = rest
				}
				if line != test.want[i] {
					t.Errorf("got  %s\nwant %s", line, test.want[i])
				}
			}
		})
	}
}

func TestLogAsJSON(t *testing.T) {
	var out bytes.Buffer
	log, err := logger(&out, config.Log{Level: "error", Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	say(log)
	var line struct {
		Time, Level, Msg, Spec string
		Of                     struct{ Trial string }
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if line.Time == "" || line.Level != "ERROR" || line.Msg != "two\nlines" || line.Spec != "run.a" || line.Of.Trial != "a.e1.01234567" {
		t.Errorf("got %s", &out)
	}
}

func TestLogLevels(t *testing.T) {
	for level, want := range map[string]int{"error": 1, "warn": 2, "info": 3, "debug": 4, "trace": 5} {
		for _, format := range []string{"text", "json", "journald"} {
			var out bytes.Buffer
			log, err := logger(&out, config.Log{Level: level, Format: format})
			if err != nil {
				t.Fatal(err)
			}
			if say(log); strings.Count(out.String(), "\n") != want {
				t.Errorf("%s as %s shows\n%swant %d lines", level, format, &out, want)
			}
		}
	}
	var out bytes.Buffer
	log, err := logger(&out, config.Log{Level: "trace", Format: "text"})
	if err != nil {
		t.Fatal(err)
	}
	if say(log); !strings.Contains(out.String(), "level=TRACE ") {
		t.Errorf("trace has no name:\n%s", &out)
	}
	if _, err := logger(&bytes.Buffer{}, config.Log{Level: "loud"}); err == nil {
		t.Error("a level that does not exist is accepted")
	}
}

func TestRunLogsProblemsOnly(t *testing.T) {
	for asked, want := range map[string]int{"": 2, "info": 3, "debug": 4} {
		t.Setenv("ASSAYD_LOG", asked)
		var out bytes.Buffer
		log, err := (&env{err: &out}).runLogger(config.DefaultSettings(os.LookupEnv))
		if err != nil {
			t.Fatal(err)
		}
		if say(log); strings.Count(out.String(), "\n") != want {
			t.Errorf("ASSAYD_LOG=%q shows\n%swant %d lines", asked, &out, want)
		}
	}
}
