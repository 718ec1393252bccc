package export

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// taskConfig is the run_config.json of a task. What follows Env is ours.
type taskConfig struct {
	TaskID       string            `json:"task_id"`
	Agent        string            `json:"agent"`
	Model        string            `json:"model"`
	Timeout      float64           `json:"timeout"` // seconds, as all durations here
	EvalInterval float64           `json:"eval_interval"`
	NoStopHook   bool              `json:"disable_stop_hook"`
	NoAutoEval   bool              `json:"disable_auto_eval"`
	NoResume     bool              `json:"disable_auto_resume"`
	Internet     bool              `json:"internet"`
	JudgeURL     string            `json:"judge_url"`
	WorkCPUs     float64           `json:"work_cpu_limit"`
	WorkMemory   string            `json:"work_mem_limit"`
	JudgeCPUs    float64           `json:"judge_cpu_limit"`
	JudgeMemory  string            `json:"judge_mem_limit"`
	Max          *int              `json:"max_submissions"` // null = no limit
	Cooldown     float64           `json:"submission_cooldown"`
	Env          map[string]string `json:"extra_env,omitempty"`

	Effort    string `json:"effort,omitempty"`
	Attempt   int    `json:"attempt"`
	Mode      string `json:"mode"`
	Parser    string `json:"parser"`
	Select    string `json:"selection"`
	Direction string `json:"score_direction"`
	origin
}

// origin says where a result comes from.
type origin struct {
	Trial     string            `json:"trial"`
	Try       int               `json:"try"`
	Benchmark string            `json:"benchmark"`
	Images    map[string]string `json:"images"` // role -> id
	Assayd    string            `json:"assayd"` // version of who exported
}

func originOf(r history.TrialRecord, version string) origin {
	return origin{
		Trial: r.ID, Try: r.Try, Benchmark: r.Cell.Task.Benchmark, Assayd: version,
		Images: map[string]string{"work": r.WorkImage.ID, "judge": r.JudgeImage.ID},
	}
}

func configOf(r history.TrialRecord, taskID, version string) taskConfig {
	c, j := r.Cell, r.Cell.Task.Judge
	out := taskConfig{
		TaskID: taskID, Agent: c.Agent.Title(), Model: c.Agent.Model, Timeout: c.Timeout.Seconds(), EvalInterval: c.AutoEval.Seconds(),
		NoStopHook: !c.StopHook, NoAutoEval: c.AutoEval == 0, NoResume: c.Resume.Max == 0, Internet: c.Task.Network.Mode == "open",
		JudgeURL: "http://" + protocol.RelayAddr, WorkCPUs: c.Task.Work.CPUs, WorkMemory: memory(c.Task.Work.Memory),
		JudgeCPUs: j.CPUs, JudgeMemory: memory(j.Memory), Cooldown: c.Cooldown.Seconds(), Env: c.Agent.Env,
		Effort: c.Agent.Effort, Attempt: c.Attempt, Mode: c.Mode, Parser: j.Parser, Select: j.Select, Direction: j.Direction,
		origin: originOf(r, version),
	}
	if c.Max > 0 {
		out.Max = &c.Max
	}
	return out
}

// memory writes bytes as container tools read them: 2g, 512m.
func memory(bytes int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "g"}, {1 << 20, "m"}, {1 << 10, "k"}} {
		if bytes >= unit.size && bytes%unit.size == 0 {
			return fmt.Sprint(bytes/unit.size, unit.name)
		}
	}
	return fmt.Sprint(bytes, "b")
}

// finalResult is final_result.json. What follows Score is ours.
type finalResult struct {
	Agent        string   `json:"agent"`
	Task         string   `json:"task"`
	RunID        string   `json:"run_id"`
	Model        string   `json:"model"`
	BestPassRate float64  `json:"best_pass_rate"`
	BestRound    string   `json:"best_round"`
	Rounds       int      `json:"total_rounds"`
	AgentRounds  int      `json:"agent_submissions"`
	AutoRounds   int      `json:"auto_submissions"`
	TimedOut     bool     `json:"timed_out"`
	Runtime      float64  `json:"runtime_seconds"` // of the agent
	ArchiveBytes int64    `json:"archive_size_bytes"`
	Resumes      int      `json:"resume_count"`
	BestScore    *float64 `json:"best_score,omitempty"`

	Score100   *float64          `json:"score_0_100"`
	Status     trial.Status      `json:"status"` // "" while the trial is open
	Reason     string            `json:"reason"`
	Error      string            `json:"error,omitempty"` // why there is no result to count
	Private    *trial.PrivateSet `json:"private,omitempty"`
	Select     string            `json:"selection"`
	Direction  string            `json:"score_direction"`
	Attempt    int               `json:"attempt"`
	StartedAt  *time.Time        `json:"started_at"`
	FinishedAt *time.Time        `json:"finished_at"`
	Usage      *trial.Usage      `json:"usage,omitempty"`
	Decoys     *mixedruns.Record `json:"decoys,omitempty"`
	Flags      []string          `json:"flags"`
	origin
}

// failedTask stands in a summary for a task without a result.
type failedTask struct {
	Task   string       `json:"task"`
	Error  string       `json:"error"`
	Status trial.Status `json:"status"`
}

func resultOf(r history.TrialRecord, h History, taskID, version string, archiveBytes int64) finalResult {
	j := r.Cell.Task.Judge
	out := finalResult{
		Agent: r.Cell.Agent.Title(), Task: taskID, RunID: h.RunID, Model: r.Cell.Agent.Model,
		BestPassRate: h.PassRate, BestRound: h.Round, BestScore: h.Score, Rounds: len(h.Entries),
		AgentRounds: h.Agent, AutoRounds: h.Auto, TimedOut: r.TimedOut, ArchiveBytes: archiveBytes, Resumes: r.Resumes,
		Select: j.Select, Direction: j.Direction, Attempt: r.Cell.Attempt, Flags: append([]string{}, r.Flags...),
		StartedAt: moment(r.StartedAt), FinishedAt: moment(r.EndedAt), origin: originOf(r, version),
	}
	if r.Result != nil && r.Result.Extended != nil { // as of the declared deadline
		out.TimedOut = r.Result.TimedOut
	}
	if !r.StartedAt.IsZero() && r.EndedAt.After(r.StartedAt) {
		out.Runtime = math.Round(r.EndedAt.Sub(r.StartedAt).Seconds()*1000) / 1000
	}
	if best, ok := scoring.Best(j, rounds(r)); ok {
		out.Score100 = best.Report.Score100
	}
	if f := r.Result; f != nil {
		out.Status, out.Reason, out.Private, out.Usage, out.Flags = f.Status, f.Reason, f.Private, &f.Usage, f.Flags
		out.Decoys = f.Decoys
		if !f.Status.Counts() {
			out.Error = cmp.Or(f.Detail, f.Reason, string(f.Status))
		}
	}
	return out
}

// summarized is what a summary says of a task.
func (f finalResult) summarized() any {
	if f.Error == "" {
		return f
	}
	return failedTask{f.Task, f.Error, f.Status}
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
