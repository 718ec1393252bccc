package agent

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// Setting is what a trial tells its agent beside the task.
type Setting struct {
	Trial      string
	Token      string
	JudgeURL   string
	PromptFile string
	Max        int           // submissions; 0 = no limit
	Cooldown   time.Duration // between two submissions
	AutoEval   time.Duration // 0 = off
	Single     bool          // nothing is submitted: what the files are at the end is judged, once
}

// Environment returns the variables of the agent's process. Those with SFORGE names are
// what existing in-container clients read. ASSAYD_DEADLINE is added by the guest, because
// it is fixed only when the agent begins.
func Environment(a Agent, t task.Task, s Setting) map[string]string {
	env := map[string]string{
		"ASSAYD_TRIAL":                s.Trial,
		"ASSAYD_TASK":                 t.Name,
		"ASSAYD_MODE":                 s.mode(),
		"ASSAYD_MODEL":                a.Model,
		"ASSAYD_PROMPT_FILE":          s.PromptFile,
		"ASSAYD_JUDGE_URL":            s.JudgeURL,
		"ASSAYD_TOKEN":                s.Token,
		"SFORGE_JUDGE_URL":            s.JudgeURL,
		"SFORGE_TOKEN":                s.Token,
		"SFORGE_PATCH_DIR":            t.Workdir,
		"SFORGE_SUBMIT_PATHS":         strings.Join(t.Submit.Paths, " "),
		"SFORGE_SUBMIT_EXCLUDE_FLAGS": excludeFlags(t.Submit.Exclude),
	}
	if t.Judge.Game != "" {
		env["GAME_SERVER_URL"] = gameURL(t, s)
	}
	maps.Copy(env, a.Env)
	return env
}

func (s Setting) mode() string {
	if s.Single {
		return "single"
	}
	return "iterative"
}

func excludeFlags(patterns []string) string {
	flags := make([]string, len(patterns))
	for i, p := range patterns {
		flags[i] = "--exclude=" + strings.TrimSuffix(p, "/")
	}
	return strings.Join(flags, " ")
}

// Prompt is what the agent reads: the task's instruction and how to submit, or to play.
func Prompt(t task.Task, timeout time.Duration, s Setting) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(t.Instruction))
	if t.Judge.Game != "" {
		b.WriteString(gamePrompt(t, timeout, s))
		return b.String()
	}
	b.WriteString("\n\n## How your work is judged\n\n")
	if s.Single {
		b.WriteString(singlePrompt(t, timeout))
		return b.String()
	}
	fmt.Fprintf(&b, "You work in `%s`. A judge that you cannot see runs hidden tests on what you submit. Your best\nsubmission counts, and a failing one costs nothing.\n\n", t.Workdir)
	fmt.Fprintf(&b, "- Submit and wait for the result: `assay-submit`. With all that you may see of the tests: `assay-submit --details`.\n")
	fmt.Fprintf(&b, "- What you submitted so far: `assay-submit --list`. Read one result again: `assay-submit --result ID`.\n")
	fmt.Fprintf(&b, "- What is submitted, relative to `%s`: %s", t.Workdir, backticked(t.Submit.Paths))
	if len(t.Submit.Exclude) > 0 {
		fmt.Fprintf(&b, ", without %s", backticked(t.Submit.Exclude))
	}
	b.WriteString(".\n")
	if s.Max > 0 {
		fmt.Fprintf(&b, "- You may submit %d times.\n", s.Max)
	} else {
		b.WriteString("- You may submit as often as you like.\n")
	}
	if s.Cooldown > 0 {
		fmt.Fprintf(&b, "- Wait at least %s between two submissions.\n", s.Cooldown)
	}
	if s.AutoEval > 0 {
		b.WriteString("- Keep these files working at all times: they may also be judged while you work.\n")
	}
	fmt.Fprintf(&b, "- You have %s. `assay-submit --time` prints the seconds that are left; at the end your files are judged once more.\n", timeout)
	if t.Network.Mode == "none" {
		b.WriteString("- There is no network.\n")
	}
	return b.String()
}

// singlePrompt tells what becomes of the files of an agent that submits nothing.
func singlePrompt(t task.Task, timeout time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You work in `%s`. When you end, what you have changed there is taken as a patch, and hidden tests are run\non it, once. There is nothing to submit.\n\n", t.Workdir)
	fmt.Fprintf(&b, "- What counts, relative to `%s`: %s", t.Workdir, backticked(t.Submit.Paths))
	if len(t.Submit.Exclude) > 0 {
		fmt.Fprintf(&b, ", without %s", backticked(t.Submit.Exclude))
	}
	b.WriteString(". Files that Git ignores do not count.\n")
	fmt.Fprintf(&b, "- You have %s, and must have ended by then. `assay-submit --time` prints the seconds that are left.\n", timeout)
	if t.Network.Mode == "none" {
		b.WriteString("- There is no network.\n")
	}
	return b.String()
}

func backticked(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	return strings.Join(quoted, ", ")
}
