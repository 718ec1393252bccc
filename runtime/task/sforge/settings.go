package sforge

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"
)

// settings reads values as Python would take them.
type settings struct {
	odd []string
	err error
}

func (s *settings) oddf(format string, args ...any) {
	s.odd = append(s.odd, fmt.Sprintf(format, args...))
}

// merge lays settings over others. Of extra_env both count.
func (s *settings) merge(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range over {
		env, ok := v.(map[string]any)
		if was, had := out[key].(map[string]any); key == "extra_env" && ok && had {
			both := maps.Clone(was)
			maps.Copy(both, env)
			v = both
		}
		out[key] = v
	}
	return out
}

func (s *settings) run(m map[string]any) Run {
	r := Run{
		Agent: s.text(m, "agent"), Model: s.text(m, "model"), Effort: s.text(m, "effort"),
		Timeout: s.seconds(m, "timeout"), Interval: s.seconds(m, "eval_interval"), Cooldown: s.seconds(m, "submission_cooldown"),
		Max: s.whole(m, "max_submissions"), NoStopHook: s.truth(m, "disable_stop_hook"), NoEval: s.truth(m, "disable_auto_eval"),
		NoResume: s.truth(m, "disable_auto_resume"),
	}
	if m["eval_interval"] != nil && r.Interval == 0 { // there the loop ends at once
		r.NoEval = true
	}
	if m["internet"] != nil {
		open := s.truth(m, "internet")
		r.Internet = &open
	}
	cpus, memory := s.whole(m, "cpu_limit"), s.text(m, "mem_limit")
	r.WorkCPUs, r.JudgeCPUs, r.WorkMemory, r.JudgeMemory = cpus, cpus, memory, memory
	for _, one := range []struct {
		role   string
		cpus   *int
		memory *string
	}{{"work", &r.WorkCPUs, &r.WorkMemory}, {"judge", &r.JudgeCPUs, &r.JudgeMemory}} {
		if n := s.whole(m, one.role+"_cpu_limit"); n > 0 {
			*one.cpus = n
		}
		if text := s.text(m, one.role+"_mem_limit"); text != "" {
			*one.memory = text
		}
	}
	switch backend := s.text(m, "backend"); backend {
	case "", "docker":
	case "k8s", "kubernetes":
		r.Engine = "kubernetes"
	default:
		s.oddf("backend: there is no %q; the tasks are run by the engine of the settings", cut(backend))
	}
	if m["judge_url"] != nil {
		s.oddf("judge_url: an agent is told where its judge is")
		delete(m, "judge_url")
	}
	if env, ok := m["extra_env"].(map[string]any); ok {
		r.Env = map[string]string{}
		for name, v := range env {
			r.Env[name] = scalarText(v)
		}
	}
	delete(m, "extra_env")
	delete(m, "backend")
	for key := range m {
		if !s.known(key) {
			s.oddf("%q has no effect, here as there", cut(key))
		}
	}
	return r
}

func (s *settings) known(key string) bool {
	return slices.Contains([]string{
		"agent", "model", "effort", "timeout", "eval_interval", "submission_cooldown", "max_submissions", "disable_stop_hook",
		"disable_auto_eval", "disable_auto_resume", "internet", "cpu_limit", "mem_limit", "work_cpu_limit", "work_mem_limit",
		"judge_cpu_limit", "judge_mem_limit",
	}, key)
}

func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *big.Int:
		return v.String()
	case float64:
		return floatText(v)
	}
	return fmt.Sprint(v)
}

func (s *settings) text(m map[string]any, key string) string {
	switch v := m[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case *big.Int:
		return v.String()
	}
	s.err = fmt.Errorf("%q is no text", key)
	return ""
}

// whole reads a number from 0.
func (s *settings) whole(m map[string]any, key string) int {
	switch v := m[key].(type) {
	case nil:
		return 0
	case *big.Int:
		if v.IsInt64() && v.Int64() >= 0 && v.Int64() < 1<<31 {
			return int(v.Int64())
		}
	}
	s.err = fmt.Errorf("%q is no whole number from 0", key)
	return 0
}

func (s *settings) seconds(m map[string]any, key string) time.Duration {
	return time.Duration(s.whole(m, key)) * time.Second
}

// truth is what Python takes for true: any text but the empty one, too.
func (s *settings) truth(m map[string]any, key string) bool {
	switch v := m[key].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		if v != "" {
			s.oddf("%s: the text %q counts as true, as it does in SForge", key, cut(v))
		}
		return v != ""
	case *big.Int:
		return v.Sign() != 0
	}
	return true
}
