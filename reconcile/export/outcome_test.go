package export_test

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tests are of every status, with names and messages that want care.
func tests() []parser.Test {
	ms := int64(1250)
	return []parser.Test{
		{Name: "tests/test_a.py::test_one[<a> & \"b\"]", Status: parser.Passed, DurationMS: &ms},
		{Name: "two", Status: parser.Failed, Message: "short\nlong ]]> \x1b[31m"},
		{Name: "three", Status: parser.Errored, Message: "broke"},
		{Name: "four", Status: parser.Skipped},
	}
}

// outcomes is a run whose trials have come to everything that a trial can come to.
func outcomes(t *testing.T) *fixture {
	h := newFixture(t)
	score := 12.5
	later := judged(round.KindAgent, 2, round.Report{
		Status: round.StatusOK, Valid: true, PassRate: 0.5, Score: &score, Passed: 1, Failed: 1, Errors: 1, TotalTests: 4, Summary: "1/4 tests passed",
		Tests: tests(), JudgeMS: 1500, DurationMS: 2000, Output: h.blob([]byte("the output\n")), Isolation: "shared",
	})
	later.StartedAt, later.JudgedAt = begun.Add(20*time.Second), begun.Add(22*time.Second)
	worse := judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.25, TotalTests: 1})
	ended := func(s *trial.State, name string, status trial.Status, reason, detail string, usage trial.Usage) {
		s.Cell.Task.Name, s.Cell.Task.Instruction = name, "Do "+name+".\n"
		s.Result = &trial.Finished{Status: status, Reason: reason, Detail: detail, Flags: []string{}, Usage: usage}
	}
	h.trial(func(s *trial.State) {
		ended(s, "partly", trial.Unresolved, "deadline", "", trial.Usage{InputTokens: 100, OutputTokens: 20, CachedTokens: 50, Requests: 3, CostUSD: 0.25})
		s.Result.TimedOut, s.Try = true, 2
		s.Result.Trajectory = h.trajectory(s.ID, s.Try)
	}, worse, later)
	h.trial(func(s *trial.State) {
		ended(s, "solved", trial.Resolved, "agent_exit", "", trial.Usage{})
		s.Cell.Attempt = 2
	}, judged(round.KindFinal, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 1, Passed: 1, TotalTests: 1, Tests: tests()[:1]}))
	h.trial(func(s *trial.State) {
		ended(s, "crashed", trial.AgentError, "agent_exit", "exit code 3", trial.Usage{})
		s.Result.Trajectory = &trial.FileRecord{File: "trials/gone/1/trajectory.json"}
	})
	h.trial(func(s *trial.State) {
		ended(s, "lost", trial.InfraError, "engine", "no space left", trial.Usage{})
		s.StartedAt = time.Time{}
	})
	h.trial(func(s *trial.State) {
		s.Cell.Task.Name, s.Result, s.EndedAt, s.Phase = "open", nil, time.Time{}, trial.Running
	})
	h.trial(func(s *trial.State) {
		ended(s, "private", trial.Unresolved, "deadline", "", trial.Usage{})
		s.Cell.Agent = agent.Agent{Name: "b"}
		s.Result.Private = &trial.PrivateSet{Round: "agent-1", Score: trial.Score{PassRate: 0.75}}
	}, judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 1}))
	return h
}

// aTrajectory is of an agent that was told one thing and answered.
const aTrajectory = `{"schema_version":"ATIF-v1.7","session_id":"r.e1.00000001/2","agent":{"name":"a","version":""},"steps":[` +
	`{"step_id":1,"source":"user","message":"Do partly."},{"step_id":2,"source":"agent","message":"Done."}]}`

// trajectory makes that of a try, as an agent's models leave it.
func (h *fixture) trajectory(id string, try int) *trial.FileRecord {
	h.Helper()
	name := filepath.Join(filepath.Dir(trydir.Of(h.store.Dir(), id, try).Log()), trydir.TrajectoryFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(aTrajectory), 0o644)); err != nil {
		h.Fatal(err)
	}
	rel, err := filepath.Rel(h.store.Dir(), name)
	if err != nil {
		h.Fatal(err)
	}
	return &trial.FileRecord{File: rel}
}

func (h *fixture) write(format string) export.Written {
	h.Helper()
	w, err := export.Write(h.Context(), h.store, format, "run.r", 0, h.dir, "v-test")
	if err != nil {
		h.Fatal(err)
	}
	return w
}

// golden compares a text with a file of testdata.
func (h *fixture) golden(name, got string) {
	h.Helper()
	at := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(at, []byte(got), 0o644)); err != nil {
			h.Fatal(err)
		}
	}
	want, err := os.ReadFile(at)
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		h.Errorf("%s: %s", name, diff)
	}
}

func (h *fixture) text(name string) string {
	h.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

// checksum is of a task as a whole, so that it changes with every field that a task gets.
var checksum = regexp.MustCompile(`("task_checksum": )"[0-9a-f]{64}"`)

func TestAJobOfHarbor(t *testing.T) {
	h := outcomes(t)
	if w := h.write("harbor"); w.Trials != 6 || w.Rounds != 4 || !slices.Equal(w.Runs, []string{"jobs/r.e1"}) {
		t.Errorf("written: %+v", w)
	}
	h.golden("harbor-files.txt", strings.Join(h.files(), "\n")+"\n")
	h.golden("harbor-job.json", h.text("jobs/r.e1/result.json"))
	for _, dir := range h.files() {
		task, rest, _ := strings.Cut(strings.TrimPrefix(dir, "jobs/r.e1/"), "__")
		if strings.HasSuffix(rest, "/result.json") && strings.Count(rest, "/") == 1 {
			h.golden("harbor-"+task+".json", checksum.ReplaceAllString(h.text(dir), `$1"…"`))
		}
		if strings.HasSuffix(rest, "test-stdout.txt") && h.text(dir) != "the output\n" {
			t.Errorf("%s reads %q", dir, h.text(dir))
		}
		if strings.HasSuffix(rest, "trajectory.json") && h.text(dir) != aTrajectory {
			t.Errorf("%s reads %q", dir, h.text(dir))
		}
	}
}

// What is written is what our own parsers read of others.
func TestReportsOfTests(t *testing.T) {
	h := outcomes(t)
	read := func(format, file, parserName string) []parser.Test {
		h.write(format)
		files := slices.DeleteFunc(h.files(), func(name string) bool { return !strings.HasPrefix(name, format+"/") })
		if len(files) != 3 { // of the trials that were judged
			t.Errorf("%s: files %q", format, files)
		}
		at := slices.IndexFunc(files, func(name string) bool { return strings.Contains(name, "/partly__") })
		h.golden(format+"-partly"+filepath.Ext(files[at]), h.text(files[at]))
		p, ok := parser.Lookup(parserName)
		if !ok {
			t.Fatal(parserName)
		}
		got := p.Parse(parser.Input{Files: map[string][]byte{file: []byte(h.text(files[at]))}, ExitCode: 1})
		if got.Problem != "" || !got.Complete {
			t.Errorf("%s: complete %t, %s", format, got.Complete, got.Problem)
		}
		return got.Tests
	}
	for _, got := range [][]parser.Test{read("ctrf", "ctrf.json", "ctrf"), read("junit", "junit.xml", "junit")} {
		byName := map[string]parser.Status{}
		for _, test := range got {
			byName[test.Name] = test.Status
		}
		for _, want := range tests() {
			if byName[want.Name] != want.Status {
				t.Errorf("%q is %q, want %q", want.Name, byName[want.Name], want.Status)
			}
		}
	}
}

// The members that the format says every report must have.
func TestACTRFReportHasWhatTheFormatRequires(t *testing.T) {
	h := outcomes(t)
	h.write("ctrf")
	for _, name := range h.files() {
		report := h.read(name)
		results, _ := report["results"].(map[string]any)
		summary, _ := results["summary"].(map[string]any)
		all, _ := results["tests"].([]any)
		if report["reportFormat"] != "CTRF" || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(report["specVersion"].(string)) {
			t.Errorf("%s is %v %v", name, report["reportFormat"], report["specVersion"])
		}
		if tool, _ := results["tool"].(map[string]any); tool["name"] != "assayd" {
			t.Errorf("%s: tool %v", name, tool)
		}
		counted := 0.0
		for _, key := range []string{"passed", "failed", "pending", "skipped", "other"} {
			n, ok := summary[key].(float64)
			if counted += n; !ok {
				t.Errorf("%s: the summary lacks %s", name, key)
			}
		}
		start, stop := summary["start"].(float64), summary["stop"].(float64)
		if counted != summary["tests"] || int(counted) != len(all) || all == nil || start <= 1e12 || stop < start {
			t.Errorf("%s: %v tests in %v", name, len(all), summary)
		}
		for _, one := range all {
			one := one.(map[string]any)
			_, timed := one["duration"].(float64)
			if one["name"] == "" || !timed || !slices.Contains([]string{"passed", "failed", "skipped", "pending", "other"}, one["status"].(string)) {
				t.Errorf("%s: %v", name, one)
			}
		}
	}
}

func TestALogOfInspect(t *testing.T) {
	h := outcomes(t)
	h.write("inspect")
	if got := h.files(); !slices.Equal(got, []string{"inspect/r.e1/a.m.eval", "inspect/r.e1/b.eval"}) {
		t.Fatalf("files %q", got)
	}
	raw := h.text("inspect/r.e1/a.m.eval")
	if !strings.HasPrefix(raw, "PK\x03\x04") {
		t.Errorf("it begins with %q", raw[:4])
	}
	z, err := zip.NewReader(strings.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || f.Method != zip.Deflate {
			t.Fatal(f.Name, f.Method, err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(f.Name, err)
		}
		pretty, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("-- " + f.Name + " --\n" + string(pretty) + "\n")
	}
	h.golden("inspect.txt", all.String())
	h.write("inspect")
	if h.text("inspect/r.e1/a.m.eval") != raw {
		t.Error("a second export gives other bytes")
	}
}

// A folder may hold a run in several formats; each is brought up to date for itself.
func TestFormatsSideBySide(t *testing.T) {
	h := outcomes(t)
	for _, format := range export.Formats() {
		h.write(format)
	}
	before := h.files()
	if err := os.Remove(filepath.Join(h.dir, "jobs/r.e1/result.json")); err != nil {
		t.Fatal(err)
	}
	for _, format := range export.Formats() {
		h.write(format)
	}
	if diff := cmp.Diff(before, h.files()); diff != "" {
		t.Error(diff)
	}
	h.do(func(tx *store.Tx) error { return tx.DeleteSubmission("0000000000000003") })
	h.write("harbor")
	if slices.ContainsFunc(h.files(), func(name string) bool {
		return strings.Contains(name, "partly") && strings.HasSuffix(name, "test-stdout.txt")
	}) {
		t.Error("what an earlier export wrote of a round that is gone is still there")
	}
}

func TestAFormatThatIsNone(t *testing.T) {
	h := newFixture(t)
	if _, err := export.Write(t.Context(), h.store, "csv", "run.r", 0, h.dir, "v"); err == nil || !strings.Contains(err.Error(), `there is no format "csv"`) {
		t.Errorf("%v", err)
	}
}
