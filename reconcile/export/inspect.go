package export

import (
	"archive/zip"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/trial"
)

// scorer is what the scores of a log are called.
const scorer = "assayd"

// inspectSample is one trial in a log of Inspect.
type inspectSample struct {
	ID         string                   `json:"id"`
	Epoch      int                      `json:"epoch"`
	Input      string                   `json:"input"`
	Target     string                   `json:"target"`
	Messages   []any                    `json:"messages"`
	Output     map[string]any           `json:"output"`
	Scores     map[string]inspectScore  `json:"scores"`
	Metadata   map[string]any           `json:"metadata"`
	Store      map[string]any           `json:"store"`
	Events     []any                    `json:"events"`
	ModelUsage map[string]inspectTokens `json:"model_usage"`
	Attach     map[string]string        `json:"attachments"`
	Error      *inspectError            `json:"error,omitempty"`
	Limit      *inspectLimit            `json:"limit,omitempty"`
	TotalTime  float64                  `json:"total_time"`
	WorkTime   float64                  `json:"working_time"`
	UUID       string                   `json:"uuid"`
}

type inspectScore struct {
	Value       any            `json:"value"`
	Answer      *string        `json:"answer"`
	Explanation string         `json:"explanation"`
	Metadata    map[string]any `json:"metadata"`
}

type inspectTokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
	Cached int64 `json:"input_tokens_cache_read"`
}

type inspectError struct {
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
	ANSI      string `json:"traceback_ansi"`
}

type inspectLimit struct {
	Type  string  `json:"type"`
	Limit float64 `json:"limit"`
}

// writeInspect writes a log for each agent with its model.
func writeInspect(x *outcomes) error {
	names, groups := x.groups()
	for _, name := range names {
		err := x.tree.file(path.Join(x.dir, name+".eval"), func(w io.Writer) error {
			z := zip.NewWriter(w)
			z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
			log := inspectLog{x: x, name: name, trials: groups[name], zip: z}
			return errors.Join(log.write(), z.Close())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectLog is one log under way.
type inspectLog struct {
	x      *outcomes
	name   string
	trials []outcome
	zip    *zip.Writer
}

// write writes the journal, then the samples, and last the header, which says that the log is
// whole.
func (l inspectLog) write() error {
	eval, plan := l.eval(), map[string]any{"name": "plan", "steps": []any{}, "config": map[string]any{}}
	if err := l.put("_journal/start.json", map[string]any{"version": 2, "eval": eval, "plan": plan}); err != nil {
		return err
	}
	summaries := []map[string]any{}
	usage := map[string]inspectTokens{}
	status := "success"
	epochs := l.epochs()
	for i, o := range l.trials {
		s := sampleOf(o, epochs[i])
		if o.Result == nil {
			status = "started"
		}
		if err := l.put(fmt.Sprintf("samples/%s_epoch_%d.json", s.ID, s.Epoch), s); err != nil {
			return err
		}
		for model, u := range s.ModelUsage {
			all := usage[model]
			usage[model] = inspectTokens{all.Input + u.Input, all.Output + u.Output, all.Total + u.Total, all.Cached + u.Cached}
		}
		summaries = append(summaries, summaryOf(s, o.Result != nil))
	}
	for _, part := range []struct {
		name  string
		value any
	}{
		{"_journal/summaries/1.json", summaries},
		{"summaries.json", summaries},
		{"reductions.json", []any{}},
		{"header.json", map[string]any{
			"version": 2, "status": status, "eval": eval, "plan": plan, "results": l.results(),
			"stats": map[string]any{"started_at": l.stamp(true), "completed_at": l.stamp(false), "model_usage": usage},
		}},
	} {
		if err := l.put(part.name, part.value); err != nil {
			return err
		}
	}
	return nil
}

// epochs number the samples of a task: by attempt, and on where an edit left several.
func (l inspectLog) epochs() []int {
	taken := map[string]bool{}
	out := make([]int, len(l.trials))
	for i, o := range l.trials {
		n := max(o.Cell.Attempt, 1)
		for ; taken[fmt.Sprint(sampleID(o), " ", n)]; n++ {
		}
		taken[fmt.Sprint(sampleID(o), " ", n)] = true
		out[i] = n
	}
	return out
}

func sampleID(o outcome) string { return safe(o.Cell.Task.Name) }

// put writes one entry. Entries have no time, so that each export gives the same bytes.
func (l inspectLog) put(name string, value any) error {
	w, err := l.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

func (l inspectLog) eval() map[string]any {
	ids := []string{}
	for _, o := range l.trials {
		if id := sampleID(o); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	first := l.trials[0].Cell
	id := uuid(l.x.run.Address, fmt.Sprint(l.x.run.Execution), l.name)
	return map[string]any{
		"eval_id": id, "run_id": uuid(l.x.run.Address, fmt.Sprint(l.x.run.Execution)), "task_id": id, "created": l.stamp(true),
		"task": first.Task.Benchmark, "task_version": 0, "task_args": map[string]any{}, "model": modelOf(l.trials[0]), "model_args": map[string]any{},
		"dataset": map[string]any{"name": first.Task.Benchmark, "samples": len(ids), "sample_ids": ids, "shuffled": false},
		"config":  map[string]any{"epochs": l.x.attempts()}, "packages": map[string]any{"assayd": l.x.version},
		"metadata": map[string]any{"run": l.x.run.Address, "execution": l.x.run.Execution, "agent": first.Agent.Title(), "effort": first.Agent.Effort},
	}
}

// modelOf is written provider/model there; an agent without a model has that of nobody.
func modelOf(o outcome) string {
	if m := o.Cell.Agent.Model; m != "" {
		return m
	}
	return "none/none"
}

// stamp is when the first trial began, or the last one ended.
func (l inspectLog) stamp(first bool) string {
	var at time.Time
	for _, o := range l.trials {
		switch {
		case first && !o.StartedAt.IsZero() && (at.IsZero() || o.StartedAt.Before(at)):
			at = o.StartedAt
		case !first && o.EndedAt.After(at):
			at = o.EndedAt
		}
	}
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func sampleOf(o outcome, epoch int) inspectSample {
	s := inspectSample{
		ID: sampleID(o), Epoch: epoch, Input: o.Cell.Task.Instruction, Messages: []any{}, Store: map[string]any{}, Events: []any{},
		Output: map[string]any{"model": modelOf(o), "choices": []any{}}, Scores: map[string]inspectScore{}, Attach: map[string]string{},
		ModelUsage: map[string]inspectTokens{}, UUID: uuid(o.ID),
		Metadata: map[string]any{"trial": o.ID, "try": o.Try, "benchmark": o.Cell.Task.Benchmark, "agent": o.Cell.Agent.Title(), "attempt": o.Cell.Attempt},
	}
	if !o.StartedAt.IsZero() && o.EndedAt.After(o.StartedAt) {
		s.TotalTime = o.EndedAt.Sub(o.StartedAt).Seconds()
		s.WorkTime = s.TotalTime
	}
	f := o.Result
	if f == nil {
		return s
	}
	s.Metadata["status"], s.Metadata["reason"], s.Metadata["flags"] = f.Status, f.Reason, f.Flags
	if u := f.Usage; u.Requests > 0 || u.InputTokens+u.OutputTokens > 0 {
		s.ModelUsage[modelOf(o)] = inspectTokens{u.InputTokens, u.OutputTokens, u.InputTokens + u.OutputTokens, u.CachedTokens}
	}
	if !f.Status.Counts() {
		s.Error = &inspectError{Message: resultError(*f)}
		return s
	}
	if f.TimedOut {
		s.Limit = &inspectLimit{Type: "time", Limit: o.Cell.Timeout.Seconds()}
	}
	s.Scores[scorer] = scoreOf(o)
	return s
}

func resultError(f trial.Finished) string {
	text := string(f.Status)
	for _, more := range []string{f.Reason, f.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// scoreOf says C or I, as Inspect does for what is right or not.
func scoreOf(o outcome) inspectScore {
	s := inspectScore{Value: "I", Metadata: map[string]any{"status": o.Result.Status}}
	if o.Result.Status == trial.Resolved {
		s.Value = "C"
	}
	if rate, ok := o.rate(); ok {
		s.Metadata["pass_rate"] = rate
	}
	if o.best != nil {
		r := o.best.Report
		s.Explanation = r.Summary
		s.Metadata["round"], s.Metadata["score"], s.Metadata["score_0_100"] = o.best.Round, r.Score, r.Score100
		s.Metadata["passed"], s.Metadata["failed"], s.Metadata["total_tests"] = r.Passed, r.Failed, r.TotalTests
	}
	return s
}

func summaryOf(s inspectSample, completed bool) map[string]any {
	out := map[string]any{
		"id": s.ID, "epoch": s.Epoch, "input": s.Input, "target": s.Target, "scores": s.Scores, "metadata": s.Metadata,
		"model_usage": s.ModelUsage, "total_time": s.TotalTime, "working_time": s.WorkTime, "uuid": s.UUID, "completed": completed,
	}
	if s.Error != nil {
		out["error"] = s.Error.Message
	}
	if s.Limit != nil {
		out["limit"] = s.Limit.Type
	}
	return out
}

// results are over the trials that count: what failed for other reasons is no wrong answer.
func (l inspectLog) results() map[string]any {
	scored, right, ended := 0, 0, 0
	for _, o := range l.trials {
		if o.Result != nil {
			ended++
		}
		if o.counts() {
			scored++
			if o.Result.Status == trial.Resolved {
				right++
			}
		}
	}
	metrics := map[string]any{}
	if scored > 0 {
		metrics["accuracy"] = map[string]any{"name": "accuracy", "value": float64(right) / float64(scored), "params": map[string]any{}}
	}
	return map[string]any{
		"total_samples": len(l.trials), "completed_samples": ended,
		"scores": []any{map[string]any{
			"name": scorer, "scorer": scorer, "scored_samples": scored, "unscored_samples": ended - scored, "params": map[string]any{}, "metrics": metrics,
		}},
	}
}
