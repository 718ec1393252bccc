package agent

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
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
	StopHook   bool          // the agent asks before it stops, if its program can be made to
	Protocol   string        // that the provider of the model speaks
	USD        float64       // budget of the trial; 0 = none
	Tokens     int64
	Hidden     []string // paths of the judge's own files, relative to the workdir: nothing says how they are called
}

// placeholder stands where programs insist on a key: the gateway has the real one.
const placeholder = "assayd-has-the-key"

// openAI and anthropic are where the gateway is found, for those who speak these protocols.
func (s Setting) openAI() string    { return s.JudgeURL + "/openai/v1" }
func (s Setting) anthropic() string { return s.JudgeURL + "/anthropic" }

// models are the variables by which programs find their models.
func (s Setting) models(api string) map[string]string {
	switch api {
	case "openai":
		return map[string]string{"OPENAI_BASE_URL": s.openAI(), "OPENAI_API_BASE": s.openAI(), "OPENAI_API_KEY": placeholder}
	case "anthropic":
		return map[string]string{"ANTHROPIC_BASE_URL": s.anthropic(), "ANTHROPIC_API_KEY": placeholder}
	}
	return nil
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
		"SFORGE_SUBMIT_EXCLUDE_FLAGS": excludeFlags(s.excluded(t)),
	}
	if t.Judge.Game != "" {
		env["GAME_SERVER_URL"] = gameURL(t, s)
	}
	maps.Copy(env, s.models(a.API))
	maps.Copy(env, a.Env)
	return env
}

func (s Setting) mode() string {
	if s.Single {
		return "single"
	}
	return "iterative"
}

// excluded are the patterns of what is not submitted that an agent is told: those that name a
// file of the judge's would tell of it. The daemon leaves out what they match all the same.
func (s Setting) excluded(t task.Task) (told []string) {
	unescaped := regexp.MustCompile(`\\(.)`)
	for _, pattern := range t.Submit.Exclude {
		name := path.Clean("/" + unescaped.ReplaceAllString(pattern, "$1"))
		if !slices.ContainsFunc(s.Hidden, func(hidden string) bool {
			file := path.Clean("/" + hidden)
			return name == file || strings.HasSuffix(hidden, "/") && strings.HasPrefix(name, file+"/") ||
				!strings.HasPrefix(pattern, "/") && strings.HasSuffix(file, name)
		}) {
			told = append(told, pattern)
		}
	}
	return told
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
		b.WriteString(singlePrompt(t, timeout, s))
		return b.String()
	}
	fmt.Fprintf(&b, "You work in `%s`. A judge that you cannot see runs hidden tests on what you submit. Your best\nsubmission counts, and a failing one costs nothing.\n\n", t.Workdir)
	fmt.Fprintf(&b, "- Submit and wait for the result: `assay-submit`. With all that you may see of the tests: `assay-submit --details`.\n")
	fmt.Fprintf(&b, "- What you submitted so far: `assay-submit --list`. Read one result again: `assay-submit --result ID`.\n")
	fmt.Fprintf(&b, "- What is submitted, relative to `%s`: %s", t.Workdir, backticked(t.Submit.Paths))
	if without := s.excluded(t); len(without) > 0 {
		fmt.Fprintf(&b, ", without %s", backticked(without))
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
	b.WriteString(boundsPrompt(t, s))
	return b.String()
}

// singlePrompt tells what becomes of the files of an agent that submits nothing.
func singlePrompt(t task.Task, timeout time.Duration, s Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You work in `%s`. When you end, what you have changed there is taken as a patch, and hidden tests are run\non it, once. There is nothing to submit.\n\n", t.Workdir)
	fmt.Fprintf(&b, "- What counts, relative to `%s`: %s", t.Workdir, backticked(t.Submit.Paths))
	if without := s.excluded(t); len(without) > 0 {
		fmt.Fprintf(&b, ", without %s", backticked(without))
	}
	b.WriteString(". Files that Git ignores do not count.\n")
	fmt.Fprintf(&b, "- You have %s, and must have ended by then. `assay-submit --time` prints the seconds that are left.\n", timeout)
	b.WriteString(boundsPrompt(t, s))
	return b.String()
}

// boundsPrompt tells what there is to spend, and where the network leads.
func boundsPrompt(t task.Task, s Setting) string {
	var b strings.Builder
	switch {
	case s.USD > 0 && s.Tokens > 0:
		fmt.Fprintf(&b, "- Your requests to models may cost %.2f USD and %d tokens in all; the work ends when either is used up.\n", s.USD, s.Tokens)
	case s.USD > 0:
		fmt.Fprintf(&b, "- Your requests to models may cost %.2f USD in all; the work ends when that is used up.\n", s.USD)
	case s.Tokens > 0:
		fmt.Fprintf(&b, "- Your requests to models may take %d tokens in all; the work ends when they are used up.\n", s.Tokens)
	}
	switch t.Network.Mode {
	case "none":
		b.WriteString("- There is no network.\n")
	case "allow":
		fmt.Fprintf(&b, "- The network leads only to %s, through the proxy that is in the environment.\n", backticked(t.Network.Allow))
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
