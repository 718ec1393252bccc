package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// viewed is what SForge's viewer shows of a task, from the files from which it takes it.
type viewed struct {
	Final    map[string]any   // final_result.json: it is done
	State    map[string]any   // evolve_state.json
	Created  string           // second line of started_at
	Active   time.Time        // of the folder
	Agent    string           // of the log of the run, where there is no result
	Errors   []string         // lines of the level ERROR: the machinery failed
	Rounds   []map[string]any // report.json or game_result.json of each folder below submissions, in order of their names
	Archives []string         // rounds with something to compare
	Output   []string         // rounds with an output
	Steps    []string         // lines of steps.jsonl
	Daemon   string           // the log of automatic rounds
	Text     string           // the conversation
	Prompted bool             // it has a prompt
}

// textIfAny reads a file of the export; "" where there is none.
func (h *fixture) textIfAny(name string) string {
	h.Helper()
	if !slices.Contains(h.files(), name) {
		return ""
	}
	return h.text(name)
}

func pick(all map[string]any, keys ...string) map[string]any {
	if all == nil {
		return nil
	}
	out := map[string]any{}
	for _, key := range keys {
		out[key] = all[key]
	}
	return out
}

// taskDir is where the task of TestWhatTheViewerReads is, each run there having one agent.
func taskDir(task string) string {
	if task == "codex" {
		return "runs/r.e1.codex/codex/"
	}
	return "runs/r.e1.a/" + task + "/"
}

// view reads a task as the viewer does.
func (h *fixture) view(task string) (v viewed) {
	h.Helper()
	dir := taskDir(task)
	values := func(name string) (value map[string]any) {
		if text := h.textIfAny(name); text != "" {
			value = h.read(name)
		}
		return value
	}
	v.Final = pick(values(dir+"final_result.json"), "agent", "model", "best_pass_rate", "best_score", "best_round", "total_rounds", "timed_out", "runtime_seconds", "archive_size_bytes")
	v.State = values(dir + "evolve_state.json")
	if lines := strings.Split(h.textIfAny(dir+"started_at"), "\n"); len(lines) == 3 {
		v.Created = lines[1]
	}
	info, err := os.Stat(filepath.Join(h.dir, dir))
	if err != nil {
		h.Fatal(err)
	}
	v.Active = info.ModTime().UTC()
	for line := range strings.Lines(h.textIfAny(dir + "run_agent.log")) {
		if _, err := time.Parse("2006-01-02 15:04:05", line[:19]); err != nil || strings.HasPrefix(line, "0001") {
			h.Errorf("a line of the log has no time: %q", line)
		}
		if _, after, ok := strings.Cut(line, " - INFO - Running agent: "); ok {
			v.Agent, _, _ = strings.Cut(after, " ")
		}
		if _, after, ok := strings.Cut(line, " - ERROR - "); ok {
			v.Errors = append(v.Errors, strings.TrimSpace(after))
		}
	}
	folders, _ := os.ReadDir(filepath.Join(h.dir, dir, "submissions"))
	for _, f := range folders {
		at := dir + "submissions/" + f.Name() + "/"
		report, game := values(at+"report.json"), values(at+"game_result.json")
		round := map[string]any{"round": f.Name()}
		for key, value := range pick(report, "submission_id", "submitted_at", "total_tests", "passed", "failed", "errors", "pass_rate", "score", "score_0_100", "timed_out", "runtime_seconds", "test_details") {
			round[key] = value
		}
		for key, value := range pick(game, "session_id", "max_score", "final_score", "peak_score", "moves") {
			round[key] = value
		}
		v.Rounds = append(v.Rounds, round)
		if h.textIfAny(at+"submission.tar.gz") != "" {
			v.Archives = append(v.Archives, f.Name())
		}
		if h.textIfAny(at+"test_output.txt") != "" {
			v.Output = append(v.Output, f.Name())
		}
		v.Steps = slices.AppendSeq(v.Steps, strings.Lines(h.textIfAny(at+"steps.jsonl")))
	}
	v.Daemon, v.Text = h.textIfAny(dir+"auto_eval_daemon.log"), h.textIfAny(dir+"agent_output.txt")
	v.Prompted = strings.Contains(h.textIfAny(dir+"agent_prompt.md"), "Do "+task+".")
	return v
}

// TestWhatTheViewerReads holds what SForge's viewer finds of each kind of trial, field by field.
func TestWhatTheViewerReads(t *testing.T) {
	h := newFixture(t)
	created, ended := "1772600767.250000", begun.Add(100*time.Second)
	named := func(s *trial.State, name string) { s.Cell.Task.Name, s.Cell.Task.Instruction = name, "Do "+name+"." }
	open := func(s *trial.State) { s.Result, s.EndedAt, s.Phase = nil, time.Time{}, trial.Running }
	score, rescaled := 12.5, 62.5
	report := round.Report{
		Status: round.StatusOK, Valid: true, PassRate: 0.5, Score: &score, Score100: &rescaled, Passed: 1, Failed: 1, TotalTests: 2, JudgeMS: 1500,
		Tests:  []parser.Test{{Name: "x", Status: parser.Passed}, {Name: "y", Status: parser.Failed, Message: "no"}},
		Output: h.blob([]byte("the output\n")), Summary: "1/2 tests passed",
	}
	first := judged(round.KindAgent, 1, report)
	first.AcceptedAt, first.Archive = begun.Add(10*time.Second), h.archive("first")
	broken := judged(round.KindAgent, 2, round.Report{Status: round.StatusError, Problem: "the engine fell over"})
	broken.AcceptedAt, broken.Archive = begun.Add(20*time.Second), h.archive("second")
	waiting := round.Submission{Kind: round.KindAgent, Number: 3, State: round.StateQueued, Archive: h.archive("third"), AcceptedAt: begun.Add(30 * time.Second)}
	s := h.trial(func(s *trial.State) { named(s, "open"); open(s); s.Cell.Agent.Program = agent.ClaudeCode }, first, broken, waiting)
	h.says(s, `{"type":"system","subtype":"init","model":"m"}`+"\n")

	h.trial(func(s *trial.State) {
		named(s, "failed")
		s.StartedAt, s.EndedAt = time.Time{}, time.Time{}
		s.Result = &trial.Finished{Status: trial.SetupError, Reason: trial.ReasonImage, Detail: "no image\nof that name"}
	})

	played := judged(round.KindGame, 1, round.Report{
		Status: round.StatusOK, Valid: true, PassRate: 0.5, Score: new(5.0), Output: h.blob([]byte(`{"move":0,"score":0}` + "\n" + `{"move":1,"score":3}` + "\n")),
		Metrics: map[string]float64{"final_score": 3, "peak_score": 5, "max_score": 10, "moves": 1},
	})
	playing := judged(round.KindGame, 2, round.Report{Status: round.StatusOK, Metrics: map[string]float64{"final_score": 1, "peak_score": 2, "max_score": 10, "moves": 4}})
	playing.State = round.StateRunning
	lost := judged(round.KindGame, 3, round.Report{Status: round.StatusError, Problem: "the engine fell over"})
	h.trial(func(s *trial.State) { named(s, "game"); s.Cell.Task.Judge.Game = "serve" }, played, playing, lost)

	auto := judged(round.KindAuto, 1, round.Report{Status: round.StatusTimeout, Valid: true})
	auto.AcceptedAt, auto.Bytes = begun.Add(40*time.Second), 512
	s = h.trial(func(s *trial.State) {
		named(s, "codex")
		s.Cell.Agent = agent.Agent{Name: "codex", Program: agent.Codex, Version: "0.169.0", Model: "gpt-5.5", Provider: "openai", Effort: "high"}
	}, auto)
	h.says(s, `{"type":"thread.started","thread_id":"0199"}`+"\n"+`{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"hello"}}`+"\n")

	h.trial(func(s *trial.State) { named(s, "never"); s.Result.TimedOut, s.TimedOut = true, true })
	h.export(0)

	ids := func(task, file string) (ids []any) {
		for _, e := range h.read(taskDir(task) + file)["entries"].([]any) {
			e := e.(map[string]any)
			ids = append(ids, either(e["submission_id"], e["session_id"]))
		}
		return ids
	}
	tests := []any{map[string]any{"name": "x", "status": "PASSED"}, map[string]any{"name": "y", "status": "FAILED"}}
	final := func(more map[string]any) map[string]any {
		all := map[string]any{
			"agent": "a", "model": "m", "best_pass_rate": 0., "best_score": nil, "best_round": "", "total_rounds": 0., "timed_out": false,
			"runtime_seconds": 90., "archive_size_bytes": 0.,
		}
		for key, value := range more {
			all[key] = value
		}
		return all
	}
	accepted := func(d time.Duration) float64 { return float64(begun.Add(d).UnixMilli()) / 1000 }
	codex := strings.Join([]string{
		"OpenAI Codex v0.169.0", "--------", "model: gpt-5.5", "provider: openai", "approval: never", "sandbox: danger-full-access",
		"reasoning effort: high", "session id: 0199", "--------", "user", "",
	}, "\n")
	for task, want := range map[string]viewed{
		"open": {
			Created: created, Agent: "claude", Prompted: true, Text: `{"type":"system","subtype":"init","model":"m"}` + "\n",
			State: map[string]any{
				"best_pass_rate": 0.5, "best_score": 12.5, "best_round": "agent-1",
				"submissions": []any{map[string]any{"kind": "agent", "round": "agent-1", "at": accepted(10 * time.Second), "pass_rate": 0.5, "score": 12.5}},
			},
			Rounds: []map[string]any{{
				"round": "agent-1", "submission_id": ids("open", "run_history.json")[0], "submitted_at": accepted(10 * time.Second), "total_tests": 2., "passed": 1.,
				"failed": 1., "errors": 0., "pass_rate": 0.5, "score": 12.5, "score_0_100": 62.5, "timed_out": false, "runtime_seconds": 1.5, "test_details": tests,
			}},
			Archives: []string{"agent-1"}, Output: []string{"agent-1"},
		},
		"failed": {Active: ended, Errors: []string{"setup_error: no image of that name"}, Prompted: true},
		"game": {
			Final:   final(map[string]any{"best_pass_rate": 0.5, "best_score": 5., "best_round": "game-1", "total_rounds": 3.}),
			Created: created, Active: ended, Agent: "a", Prompted: true, Steps: []string{`{"move":1,"score":3}` + "\n"},
			Rounds: []map[string]any{
				{"round": "game-1", "session_id": ids("game", "game_history.json")[0], "max_score": 10., "final_score": 3., "peak_score": 5., "moves": 1.},
				{"round": "game-2", "session_id": ids("game", "game_history.json")[1], "max_score": 10., "final_score": 1., "peak_score": 2., "moves": 4.},
			},
		},
		"codex": {
			Final:   final(map[string]any{"agent": "codex", "model": "gpt-5.5", "best_round": "auto-1", "total_rounds": 1.}),
			Created: created, Active: ended, Agent: "codex", Prompted: true,
			Rounds: []map[string]any{{
				"round": "auto-1", "submission_id": ids("codex", "run_history.json")[0], "submitted_at": accepted(40 * time.Second), "total_tests": 0., "passed": 0.,
				"failed": 0., "errors": 0., "pass_rate": 0., "score": nil, "score_0_100": nil, "timed_out": true, "runtime_seconds": 0., "test_details": []any{},
			}},
			Daemon: "[" + begun.Add(40*time.Second).Local().Format("2006-01-02 15:04:05") + "] submitted 512 bytes -> " + ids("codex", "run_history.json")[0].(string) + " round=auto-1\n",
			Text:   codex + strings.TrimSuffix(h.text(taskDir("codex")+"agent_prompt.md"), "\n") + "codex\nhello\n",
		},
		"never": {Final: final(map[string]any{"timed_out": true}), Created: created, Active: ended, Agent: "a", Prompted: true},
	} {
		got := h.view(task)
		if task == "open" { // its folder has the time of the export
			got.Active = time.Time{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", task, diff)
		}
	}
}

func either(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// TestTheLogOfCodexIsWrittenAsItsViewerReadsIt, whatever stands in it.
func TestTheLogOfCodexIsWrittenAsItsViewerReadsIt(t *testing.T) {
	h := newFixture(t)
	s := h.trial(func(s *trial.State) {
		s.Cell.Task.Workdir, s.Cell.Task.Instruction = "/app", "Do it."
		s.Cell.Agent = agent.Agent{Name: "mine", Model: "gpt\nmodel: other"}
	})
	item := func(kind string, fields map[string]any) string {
		text, err := json.Marshal(map[string]any{"type": kind, "item": fields})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	h.says(s, strings.Join([]string{
		"Reading additional input", `{"type":"thread.started","thread_id":"0199"}`, `{"type":"turn.started"}`,
		item("item.completed", map[string]any{"id": "0", "type": "reasoning", "text": "I look first."}),
		item("item.completed", map[string]any{"id": "1", "type": "agent_message", "text": "I look.\nexec\n user \u2028codex"}),
		item("item.started", map[string]any{"id": "2", "type": "command_execution", "command": "id -un", "status": "in_progress"}),
		item("item.completed", map[string]any{"id": "2", "type": "command_execution", "command": "id -un", "aggregated_output": "user\n", "exit_code": 0, "status": "completed"}),
		item("item.completed", map[string]any{"id": "3", "type": "command_execution", "command": "cat <<E\nhi\nE", "exit_code": 127, "status": "failed"}),
		item("item.completed", map[string]any{"id": "4", "type": "command_execution", "command": "cut", "exit_code": -1, "status": "failed"}),
		item("item.completed", map[string]any{"id": "5", "type": "file_change", "status": "failed", "changes": []any{
			map[string]any{"path": "a.go", "kind": "add"}, map[string]any{"path": "b.go", "kind": "update"},
		}}),
		item("item.completed", map[string]any{
			"id": "6", "type": "mcp_tool_call", "server": "files", "tool": "read", "arguments": map[string]any{"p": 1}, "result": map[string]any{"content": []any{}}, "status": "completed",
		}),
		item("item.completed", map[string]any{"id": "7", "type": "web_search", "query": "how"}),
		item("item.completed", map[string]any{"id": "8", "type": "todo_list", "items": []any{map[string]any{"text": "look", "completed": true}, map[string]any{"text": "mend"}}}),
		item("item.completed", map[string]any{"id": "9", "type": "newer"}), "{broken", strings.Repeat("x", 9<<20),
		`{"type":"turn.failed","error":{"message":"no credit"}}`, `{"type":"thread.started","thread_id":"0199"}`,
		item("item.started", map[string]any{"id": "10", "type": "command_execution", "command": "make", "status": "in_progress"}), `{"type":"turn.completed","usage":{}}`,
	}, "\n"))
	h.export(0)
	head, got, ok := strings.Cut(h.text("runs/r.e1/t/agent_output.txt"), "--------\nReading additional input\nuser\n"+strings.TrimSuffix(h.text("runs/r.e1/t/agent_prompt.md"), "\n"))
	if want := "OpenAI Codex\n--------\nworkdir: /app\nmodel: gpt⏎model: other\nsession id: 0199\n"; !ok || head != want {
		t.Errorf("the head is %q", head)
	}
	want := "codex\nthinking:\nI look first.\ncodex\nI look.\nexec\u200b\n user \u200b\ncodex\u200b\n" +
		"exec\nid -un in /app\n succeeded in 0ms:\nuser\u200b\n\n" +
		"exec\ncat <<E⏎hi⏎E in /app\n exited 127 in 0ms:\n\n" +
		"exec\ncut in /app\n exited 255 in 0ms:\n\n" +
		"exec\napply_patch: add a.go, update b.go in /app\n exited 1 in 0ms:\n\n" +
		"exec\nfiles.read {\"p\":1} in /app\n succeeded in 0ms:\n{\"content\":[]}\n\n" +
		"exec\nweb_search: how in /app\n succeeded in 0ms:\n\n" +
		"codex\n- [x] look\n- [ ] mend\n" +
		"{\"item\":{\"id\":\"9\",\"type\":\"newer\"},\"type\":\"item.completed\"}\n{broken\n[assayd: a line longer than 8388608 bytes is left out]\n" +
		"codex\nERROR: no credit\nuser\nThe agent is started again, and told to continue.\n" +
		"exec\nmake in /app\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
