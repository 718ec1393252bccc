package export_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

func TestTheTreeOfAnIterativeTask(t *testing.T) {
	h := newFixture(t)
	score := 12.5
	first := judged(round.KindAgent, 1, round.Report{
		Status: round.StatusOK, Valid: true, PassRate: 0.5, Score: &score, Score100: &score, Passed: 1, Failed: 1, TotalTests: 2, Summary: "1/2 tests passed",
		Tests:   []parser.Test{{Name: "x", Status: parser.Passed}, {Name: "y", Status: parser.Failed, Message: "no"}, {Name: "z", Status: parser.Skipped}},
		Metrics: map[string]float64{"k": 1}, JudgeMS: 1500, Output: h.blob([]byte("the output\n")), Isolation: "shared",
	})
	first.Archive, first.AcceptedAt = h.archive("first"), begun.Add(10*time.Second)
	auto := judged(round.KindAuto, 1, round.Report{Status: round.StatusTimeout, Valid: true, PassRate: 0.25})
	auto.Archive = h.archive("auto")
	broken := judged(round.KindAgent, 2, round.Report{Status: round.StatusError, Problem: "the engine fell over"})
	broken.Archive = h.archive("broken")
	gone := judged(round.KindAgent, 3, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.25})
	gone.Archive = strings.Repeat("0", 64) // collected
	former := judged(round.KindAgent, 4, round.Report{Status: round.StatusOK, Valid: true, PassRate: 1})
	former.Try = 1
	s := h.trial(func(s *trial.State) {
		s.Try, s.FinalRound, s.TimedOut, s.Resumes, s.Cell.Max, s.Cell.Cooldown = 2, "agent-1", true, 3, 7, 2*time.Minute
	}, first, auto, broken, gone, former,
		judged(round.KindPrivate, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 1}),
		round.Submission{Kind: round.KindAgent, Number: 5, State: round.StateQueued}, round.Submission{Kind: round.KindAgent, Number: 6, State: round.StateReserved})
	h.says(s, "said\n")
	if w := h.export(0); w.Trials != 1 || w.Rounds != 5 || !slices.Equal(w.Runs, []string{"runs/r.e1"}) || w.Execution != 1 {
		t.Errorf("written: %+v", w)
	}
	const dir = "runs/r.e1/t/"
	want := []string{
		"runs/r.e1/run_config.json", "runs/r.e1/summary.json",
		dir + "agent_output.txt", dir + "agent_prompt.md", dir + "auto_eval_ticks.log", dir + "auto_eval_daemon.log", dir + "evolve_state.json",
		dir + "run_agent.log", dir + "final_archive.tar.gz", dir + "final_result.json", dir + "run_config.json",
		dir + "run_history.json", dir + "started_at",
		dir + "submissions/agent-1/report.json", dir + "submissions/agent-1/submission.tar.gz", dir + "submissions/agent-1/test_output.txt",
		dir + "submissions/agent-3/report.json",
		dir + "submissions/auto-1/report.json", dir + "submissions/auto-1/submission.tar.gz",
		dir + "unjudged/agent-2/submission.tar.gz", // a broken machine is no zero, as the viewer would have it
	}
	got := h.files()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	h.has("report.json", h.read(dir+"submissions/agent-1/report.json"), map[string]any{
		"task_id": "t", "total_tests": 2, "passed": 1, "failed": 1, "errors": 0, "pass_rate": 0.5, "score": 12.5, "score_0_100": 12.5,
		"timed_out": false, "runtime_seconds": 1.5, "valid": true, "summary": "1/2 tests passed", "metrics": map[string]any{"k": 1},
		"test_details": []any{map[string]any{"name": "x", "status": "PASSED"}, map[string]any{"name": "y", "status": "FAILED"}},
		"details": []any{
			map[string]any{"name": "x", "status": "PASSED"},
			map[string]any{"name": "y", "status": "FAILED", "message": "no"},
			map[string]any{"name": "z", "status": "SKIPPED"},
		},
		"submitted_at": float64(begun.Add(10*time.Second).UnixMilli()) / 1000, "status": "ok", "isolation": "shared",
	})
	h.has("report.json of a timeout", h.read(dir+"submissions/auto-1/report.json"), map[string]any{"timed_out": true, "summary": nil, "details": []any{}})
	result := h.read(dir + "final_result.json")
	h.has("final_result.json", result, map[string]any{
		"agent": "a", "task": "t", "run_id": "r.e1", "model": "m", "best_pass_rate": 0.5, "best_round": "agent-1", "best_score": 12.5,
		"total_rounds": 5, "agent_submissions": 4, "auto_submissions": 1, "timed_out": true, "runtime_seconds": 90, "resume_count": 3,
		"score_0_100": 12.5, "status": "unresolved", "reason": "deadline", "selection": "pass_rate_first", "try": 2, "assayd": "v-test",
		"images": map[string]any{"judge": "sha256:j", "work": "sha256:w"},
	})
	h.has("run_config.json", h.read(dir+"run_config.json"), map[string]any{
		"task_id": "t", "agent": "a", "model": "m", "timeout": 3600, "eval_interval": 300, "disable_stop_hook": false, "disable_auto_eval": false,
		"disable_auto_resume": true, "internet": false, "work_cpu_limit": 2, "work_mem_limit": "4g", "judge_cpu_limit": 0.5,
		"judge_mem_limit": "256m", "max_submissions": 7, "submission_cooldown": 120,
	})
	history := h.read(dir + "run_history.json")
	h.has("run_history.json", history, map[string]any{
		"run_id": "r.e1", "best_score": 12.5, "best_pass_rate": 0.5, "best_round": "agent-1", "agent_submissions": 4, "auto_submissions": 1,
	})
	var told []string
	for _, e := range history["entries"].([]any) {
		e := e.(map[string]any)
		_, rated := e["pass_rate"]
		told = append(told, fmt.Sprint(e["type"], " ", e["round"], " ", e["status"], " ", rated, " ", e["error"]))
	}
	if want := []string{
		"submission agent-1 completed true <nil>", "submission auto-1 completed true <nil>",
		"submission agent-2 error false the engine fell over", "submission agent-3 completed true <nil>", "submission agent-5 running false <nil>",
	}; !slices.Equal(told, want) {
		t.Errorf("entries:\n%s", strings.Join(told, "\n"))
	}
	summary := h.read("runs/r.e1/summary.json")
	h.has("summary.json", summary, map[string]any{"run_id": "r.e1", "tasks": []any{result}})
	h.has("the run's run_config.json", h.read("runs/r.e1/run_config.json"), map[string]any{
		"run_id": "r.e1", "experiment": nil, "stagger": 0, "tasks": map[string]any{"t": h.read(dir + "run_config.json")},
	})
	if got := h.inside(dir + "final_archive.tar.gz"); got != "first" {
		t.Errorf("the final archive is %q, want that of the last snapshot's round", got)
	}
	info, err := os.Stat(filepath.Join(h.dir, dir, "final_archive.tar.gz"))
	if err != nil || result["archive_size_bytes"] != float64(info.Size()) {
		t.Errorf("archive_size_bytes is %v, of a file of %d", result["archive_size_bytes"], info.Size())
	}
	at, err := os.ReadFile(filepath.Join(h.dir, dir, "started_at"))
	if lines := strings.Split(string(at), "\n"); err != nil || len(lines) != 3 || lines[1] != "1772600767.250000" {
		t.Errorf("started_at: %q, %v", at, err)
	}
}

func TestAGameHasItsSteps(t *testing.T) {
	h := newFixture(t)
	steps := `{"move":0,"action":"","observation":"a house","score":0}
{"move":1,"action":"look","observation":"a door","score":5}
{"move":2,"action":"go","observation":"lost","score":3}
{"cut":true}
`
	report := round.Report{
		Status: round.StatusOK, Valid: true, PassRate: 0.5, Output: h.blob([]byte(steps)), Summary: "peak score 5",
		Metrics: map[string]float64{"final_score": 3, "peak_score": 5, "max_score": 10, "moves": 2},
	}
	playing := judged(round.KindGame, 2, round.Report{Metrics: map[string]float64{"peak_score": 1}})
	playing.State = round.StateRunning
	h.trial(func(s *trial.State) { s.Cell.Task.Judge.Game = "serve" }, judged(round.KindGame, 1, report), playing)
	h.export(0)
	const dir = "runs/r.e1/t/"
	lines, err := os.ReadFile(filepath.Join(h.dir, dir, "submissions/game-1/steps.jsonl"))
	if err != nil || strings.Count(string(lines), "\n") != 2 || !strings.HasPrefix(string(lines), `{"move":1,`) {
		t.Errorf("steps.jsonl: %q, %v", lines, err)
	}
	want := map[string]any{
		"type": "game", "round": "game-1", "task_id": "t", "max_score": 10, "peak_score": 5, "final_score": 3, "score": 5, "moves": 2,
		"pass_rate": 0.5, "status": "completed",
	}
	result := h.read(dir + "submissions/game-1/game_result.json")
	h.has("game_result.json", result, want)
	if n := len(result["steps"].([]any)); n != 2 {
		t.Errorf("%d steps", n)
	}
	history := h.read(dir + "game_history.json")
	entries := history["entries"].([]any)
	if len(entries) != 2 || history["agent_submissions"] != 0.0 || history["best_round"] != "game-1" {
		t.Fatalf("game_history.json: %v", history)
	}
	h.has("game_history.json", entries[0].(map[string]any), result)
	h.has("game_history.json", entries[1].(map[string]any), map[string]any{"status": "running", "score": 1})
}

func TestOneAgentARun(t *testing.T) {
	h := newFixture(t)
	cell := func(agentName, label, model, benchmark, task string, attempt int) {
		h.trial(func(s *trial.State) {
			s.Cell.Agent = agent.Agent{Name: agentName, Label: label, Model: model}
			s.Cell.Task.Benchmark, s.Cell.Task.Name, s.Cell.Attempt = benchmark, task, attempt
		})
	}
	cell("a", "one", "m/1", "b", "t", 1)
	cell("a", "two", "m/2", "b", "t", 1)
	cell("a", "../../up", "", "b", "t", 2)
	cell("c", "", "", "b", "2048", 1)
	cell("c", "", "", "b2", "2048", 1)
	cell("c", "", "", "b", ".hidden/..", 1)
	cell("c", "", "", "b", "summary.json", 1) // is a file of the run
	cell("c", "", "", "b", "run_config.json.partial", 1)
	cell("d", "", "same", "b", "t", 1)
	h.trial(func(s *trial.State) { // after an edit of the task: it supersedes the one before
		s.Cell.Agent, s.Cell.Task.Benchmark, s.Cell.Task.Name, s.Cell.Attempt = agent.Agent{Name: "d", Model: "same"}, "b", "t", 1
		s.StartedAt = s.StartedAt.Add(time.Hour)
	})
	h.export(0)
	var places []string
	for _, name := range h.files() {
		if dir, ok := strings.CutSuffix(name, "/final_result.json"); ok {
			places = append(places, strings.TrimPrefix(dir, "runs/"))
		}
	}
	want := []string{
		"r.e1._.._.._up.a2/t", "r.e1.one.a1/t", "r.e1.two.a1/t", "r.e1.c.a1/_.hidden_..", "r.e1.c.a1/b.2048", "r.e1.c.a1/b2.2048",
		"r.e1.c.a1/b.run_config.json.partial", "r.e1.c.a1/b.summary.json", "r.e1.d.a1/t",
	}
	slices.Sort(places)
	if slices.Sort(want); !slices.Equal(places, want) {
		t.Errorf("places:\n%s\nwant:\n%s", strings.Join(places, "\n"), strings.Join(want, "\n"))
	}
}

// A broken machine is never a zero score.
func TestATaskWithoutAResult(t *testing.T) {
	h := newFixture(t)
	h.trial(func(s *trial.State) {
		s.Cell.Task.Name, s.StartedAt, s.EndedAt = "broken", time.Time{}, time.Time{}
		s.Result = &trial.Finished{Status: trial.InfraError, Reason: trial.ReasonEngine, Detail: "no space left"}
	})
	h.trial(func(s *trial.State) {
		s.Cell.Task.Name, s.Result, s.EndedAt, s.Phase = "open", nil, time.Time{}, trial.Running
	})
	h.export(0)
	tasks := h.read("runs/r.e1/summary.json")["tasks"].([]any)
	h.has("summary.json", tasks[0].(map[string]any), map[string]any{"task": "broken", "error": "no space left", "status": "infra_error"})
	if slices.ContainsFunc(h.files(), func(name string) bool { return path.Base(name) == "final_result.json" }) {
		t.Errorf("SForge's viewer takes a task with a result for done: %q", h.files())
	}
	ended := begun.Add(100 * time.Second).Local().Format("2006-01-02 15:04:05,000") // though the agent never began
	if log := h.text("runs/r.e1/broken/run_agent.log"); log != ended+" - ERROR - infra_error: no space left\n" {
		t.Errorf("the log of the broken one says %q", log)
	}
	if log := h.text("runs/r.e1/open/run_agent.log"); strings.Contains(log, "ERROR") || !strings.Contains(log, " - INFO - Running agent: a on task open, trial ") {
		t.Errorf("the log of the open one says %q", log)
	}
}

// TestTheRoundAtTheEndHasANameThatTheViewerKnows, and so has whatever speaks of it.
func TestTheRoundAtTheEndHasANameThatTheViewerKnows(t *testing.T) {
	h := newFixture(t)
	auto := judged(round.KindAuto, 2, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.25})
	auto.AcceptedAt, auto.Bytes = begun.Add(time.Minute), 512
	final := judged(round.KindFinal, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.5})
	final.AcceptedAt, final.JudgedAt, final.Archive = begun.Add(2*time.Minute), begun.Add(3*time.Minute), h.archive("final")
	h.trial(func(s *trial.State) { s.FinalRound = "final-1" }, auto, final)
	h.export(0)
	const dir = "runs/r.e1/t/"
	h.has("final_result.json", h.read(dir+"final_result.json"), map[string]any{"best_round": "auto-3", "auto_submissions": 2, "total_rounds": 2})
	if slices.ContainsFunc(h.files(), func(name string) bool { return strings.Contains(name, "final-") }) {
		t.Errorf("there are %q", h.files())
	}
	info, err := os.Stat(filepath.Join(h.dir, dir, "submissions/auto-3/report.json"))
	if err != nil || !info.ModTime().Equal(final.JudgedAt) {
		t.Errorf("the round is of %v, %v; want %v", info, err, final.JudgedAt)
	}
	log, err := os.ReadFile(filepath.Join(h.dir, dir, "auto_eval_ticks.log"))
	lines := strings.Split(string(log), "\n")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], "] submitted 512 bytes -> ") || !strings.HasSuffix(lines[0], " round=auto-2") || !strings.HasSuffix(lines[1], " round=auto-3") {
		t.Errorf("the ticks are %q, %v", log, err)
	}
	prompt, err := os.ReadFile(filepath.Join(h.dir, dir, "agent_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "## How your work is judged") {
		t.Errorf("the prompt is %q, %v", prompt, err)
	}
}

func TestTheHistoryOfARunHasAllItsTrials(t *testing.T) {
	h := newFixture(t)
	h.trial(func(s *trial.State) { s.Cell.Task.Name = "one" }, judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.25}))
	two := h.trial(func(s *trial.State) { s.Cell.Task.Name = "two" }, judged(round.KindAuto, 1, round.Report{Status: round.StatusOK, Valid: true, PassRate: 0.5}))
	run, err := history.Records(t.Context(), h.store, "run.r", 0)
	if err != nil {
		t.Fatal(err)
	}
	all := export.HistoryOfRun("run.r", run.Trials)
	if all.RunID != "run.r" || all.PassRate != 0.5 || all.Round != "auto-1" || all.Agent != 1 || all.Auto != 1 || len(all.Entries) != 2 {
		t.Errorf("%+v", all)
	}
	if e, ok := all.Entries[1].(export.Entry); !ok || e.RunID != two.ID || e.TaskID != "two" {
		t.Errorf("the second entry is %+v", all.Entries[1])
	}
	if none := export.HistoryOfRun("run.q", nil); none.Entries == nil {
		t.Error("no trials give null for entries")
	}
}
