package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// harborTrial is the result.json of a trial.
type harborTrial struct {
	ID           string           `json:"id"`
	TaskName     string           `json:"task_name"`
	TrialName    string           `json:"trial_name"`
	TrialURI     string           `json:"trial_uri"`
	TaskID       map[string]any   `json:"task_id"`
	Source       string           `json:"source"`
	TaskChecksum string           `json:"task_checksum"`
	Config       map[string]any   `json:"config"`
	AgentInfo    harborAgent      `json:"agent_info"`
	AgentResult  *harborUsage     `json:"agent_result"`
	Verifier     *harborRewards   `json:"verifier_result"`
	VerifierMode string           `json:"verifier_environment_mode"`
	Exception    *harborException `json:"exception_info"`
	StartedAt    *time.Time       `json:"started_at"`
	FinishedAt   *time.Time       `json:"finished_at"`
	Setup        *harborSpan      `json:"environment_setup"`
	AgentSetup   *harborSpan      `json:"agent_setup"`
	Execution    *harborSpan      `json:"agent_execution"`
	Judging      *harborSpan      `json:"verifier"`
	StepResults  []any            `json:"step_results"`
}

type harborAgent struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Model   *harborModel `json:"model_info"`
}

type harborModel struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
}

type harborUsage struct {
	Input    int64          `json:"n_input_tokens"`
	Cached   int64          `json:"n_cache_tokens"`
	Output   int64          `json:"n_output_tokens"`
	Cost     float64        `json:"cost_usd"`
	Rollouts []any          `json:"rollout_details"`
	Metadata map[string]any `json:"metadata"`
}

type harborRewards struct {
	Rewards map[string]float64 `json:"rewards"`
}

type harborException struct {
	Type      string     `json:"exception_type"`
	Message   string     `json:"exception_message"`
	Traceback string     `json:"exception_traceback"`
	At        *time.Time `json:"occurred_at"`
}

type harborSpan struct {
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

// writeHarbor writes a job: result.json of it and of each trial, what passed between an agent
// and its models, and what the verifier left.
func writeHarbor(x *outcomes) error {
	for _, o := range x.trials {
		dir := path.Join(x.dir, o.name)
		result := harborOf(o, path.Join(x.dir, o.name))
		if err := x.tree.json(path.Join(dir, "result.json"), result); err != nil {
			return err
		}
		if err := x.tree.json(path.Join(dir, "config.json"), result.Config); err != nil {
			return err
		}
		if err := x.trajectory(path.Join(dir, "agent", trydir.TrajectoryFile), o); err != nil {
			return err
		}
		if o.best == nil {
			continue
		}
		if err := x.verifier(path.Join(dir, "verifier"), o, result); err != nil {
			return err
		}
	}
	if err := x.tree.json(path.Join(x.dir, "config.json"), map[string]any{
		"job_name": x.name, "n_attempts": x.attempts(), "agents": x.agents(), "assayd": map[string]any{"run": x.run.Address, "version": x.version},
	}); err != nil {
		return err
	}
	return x.tree.json(path.Join(x.dir, "result.json"), x.job())
}

// trajectory writes that of the try that counts, where it has one that is kept still.
func (x *outcomes) trajectory(name string, o outcome) (err error) {
	if o.Result == nil || o.Result.Trajectory == nil {
		return nil
	}
	f, err := os.OpenInRoot(x.store.Dir(), o.Result.Trajectory.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the trajectory of trial %s: %w", o.ID, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return x.tree.file(name, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// verifier writes the reward, the tests and the output of the round that counts.
func (x *outcomes) verifier(dir string, o outcome, r harborTrial) error {
	if r.Verifier != nil {
		if err := x.tree.json(path.Join(dir, "reward.json"), r.Verifier.Rewards); err != nil {
			return err
		}
	}
	if len(o.tests()) > 0 {
		if err := x.tree.json(path.Join(dir, "ctrf.json"), ctrfOf(o, x.version)); err != nil {
			return err
		}
	}
	if o.best.Report.Output == "" {
		return nil
	}
	s := sforge{tree: x.tree, store: x.store}
	return s.blob(path.Join(dir, "test-stdout.txt"), o.best.Report.Output, func(w io.Writer, r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// harborOf is the result of a trial. Where the trial is in no denominator it has an exception
// and no reward.
func harborOf(o outcome, uri string) harborTrial {
	c := o.Cell
	checksum, err := json.Marshal(c.Task)
	if err != nil {
		panic(err) // plain data always encodes
	}
	r := harborTrial{
		ID: uuid(o.ID), TaskName: c.Task.Name, TrialName: o.name, TrialURI: uri, TaskID: map[string]any{"path": c.Task.Name},
		Source: c.Task.Benchmark, TaskChecksum: sum(checksum), VerifierMode: "separate",
		Config: map[string]any{
			"task": map[string]any{"path": c.Task.Name, "source": c.Task.Benchmark}, "trial_name": o.name,
			"agent": map[string]any{"name": c.Agent.Title(), "model_name": orNull(c.Agent.Model), "override_timeout_sec": c.Timeout.Seconds()},
		},
		AgentInfo: harborAgent{Name: c.Agent.Title(), Version: "unknown"},
		StartedAt: moment(o.StartedAt), FinishedAt: moment(o.EndedAt),
	}
	if c.Agent.Model != "" {
		r.AgentInfo.Model = &harborModel{Name: c.Agent.Model, Provider: "unknown"}
	}
	if !o.StartedAt.IsZero() {
		r.Execution = &harborSpan{moment(o.StartedAt), moment(o.EndedAt)}
	}
	if f := o.Result; f != nil {
		u := f.Usage
		r.AgentResult = &harborUsage{
			Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens, Cost: u.CostUSD,
			Metadata: map[string]any{"status": f.Status, "reason": f.Reason, "flags": f.Flags, "attempt": c.Attempt, "mode": c.Mode},
		}
		r.Exception = harborFailure(*f, moment(o.EndedAt))
	}
	if o.best != nil {
		began, ended := o.judging()
		r.Judging = &harborSpan{&began, &ended}
	}
	if rate, _ := o.rate(); o.counts() { // an agent that left nothing to judge has earned nothing
		r.Verifier = &harborRewards{map[string]float64{"reward": rate}}
		if o.best != nil && o.best.Report.Score != nil {
			r.Verifier.Rewards["score"] = *o.best.Report.Score
		}
	}
	return r
}

// harborFailure names in Harbor's way why a trial failed; nil where it did not.
func harborFailure(f trial.Finished, at *time.Time) *harborException {
	kind := map[trial.Status]string{
		trial.AgentError: "NonZeroAgentExitCodeError", trial.TestError: "VerifierOutputParseError", trial.SetupError: "EnvironmentStartError",
		trial.SanityFail: "SanityCheckError", trial.InfraError: "InfrastructureError", trial.Cancelled: "CancelledError",
	}[f.Status]
	if f.Status == trial.AgentError && f.TimedOut {
		kind = "AgentTimeoutError"
	}
	if kind == "" {
		return nil
	}
	return &harborException{Type: kind, Message: cmp.Or(f.Detail, f.Reason), At: at}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// uuid is made of names, so that each export gives the same.
func uuid(names ...string) string {
	s := sha256.Sum256(fmt.Append(nil, names))
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // version 8, of our own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}
