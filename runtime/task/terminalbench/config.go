package terminalbench

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task/folder"
)

// config is task.yaml.
type config struct {
	Instruction  string        `yaml:"instruction,omitempty"`
	Descriptions []description `yaml:"descriptions,omitempty"` // of the first tasks
	AuthorName   string        `yaml:"author_name,omitempty"`
	AuthorEmail  string        `yaml:"author_email,omitempty"`
	Difficulty   string        `yaml:"difficulty,omitempty"`
	Category     string        `yaml:"category,omitempty"`
	Tags         []string      `yaml:"tags,omitempty"`
	Parser       string        `yaml:"parser_name,omitempty"`
	AgentTimeout float64       `yaml:"max_agent_timeout_sec,omitempty"`
	TestTimeout  float64       `yaml:"max_test_timeout_sec,omitempty"`
	SameShell    bool          `yaml:"run_tests_in_same_shell"`
	NoAsciinema  bool          `yaml:"disable_asciinema,omitempty"`
	Estimated    float64       `yaml:"estimated_duration_sec,omitempty"`
	Expert       float64       `yaml:"expert_time_estimate_min,omitempty"`
	Junior       float64       `yaml:"junior_time_estimate_min,omitempty"`

	Note string         `yaml:"assayd,omitempty"` // ours
	More map[string]any `yaml:",inline"`
}

type description struct {
	Key  string `yaml:"key"`
	Text string `yaml:"description"`
}

func parse(data []byte) (c config, err error) {
	if err := folder.CheckYAML(data); err != nil {
		return c, err
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
			return c, errors.New(strings.Join(wrong.Errors, "; "))
		}
		return c, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	for _, d := range c.Descriptions {
		if c.Instruction == "" && (d.Key == "base" || len(c.Descriptions) == 1) {
			c.Instruction = d.Text
		}
	}
	return c, nil
}

// keystroke is one of solution.yaml.
type keystroke struct {
	Command string `yaml:"command"`
	Block   *bool  `yaml:"block"`
	Enter   *bool  `yaml:"append_enter"`
}

// keystrokes makes a script of a solution that is typed, where it is one of commands.
func keystrokes(data []byte) (string, error) {
	var list []keystroke
	if err := folder.CheckYAML(data); err != nil {
		return "", err
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		return "", fmt.Errorf("is no list of commands: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var b strings.Builder
	for _, k := range list {
		if k.Enter != nil && !*k.Enter || k.Block != nil && !*k.Block {
			return "", errors.New("types into programs that go on")
		}
		b.WriteString(k.Command + "\n")
	}
	return b.String(), nil
}
