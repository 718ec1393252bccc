package sweforge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task/folder"
)

// workspace is workspace.yaml, in the order of its keys.
type workspace struct {
	ID              string            `yaml:"id"`
	Repo            string            `yaml:"repo"`
	BaseCommit      string            `yaml:"base_commit"`
	MergeCommit     string            `yaml:"merge_commit"`
	Language        string            `yaml:"language"`
	DifficultyScore int               `yaml:"difficulty_score"`
	CreatedAt       string            `yaml:"created_at"`
	Patch           string            `yaml:"patch"`
	TestPatch       string            `yaml:"test_patch"`
	FailToPass      []string          `yaml:"fail_to_pass"`
	PassToPass      []string          `yaml:"pass_to_pass"`
	InstallConfig   map[string]string `yaml:"install_config"`
	Meta            map[string]string `yaml:"meta"`
	Prompt          string            `yaml:"prompt"`
	OriginalPRBody  string            `yaml:"original_pr_body"`
	QualityScore    *float64          `yaml:"quality_score"`
	QualityPassed   bool              `yaml:"quality_passed"`
	DockerPassed    bool              `yaml:"docker_passed"`
	WorkspacePath   *string           `yaml:"workspace_path"`
	Status          string            `yaml:"status"`

	// What follows is ours.
	Image           string   `yaml:"image,omitempty"`
	FailToPassTests []string `yaml:"fail_to_pass_tests,omitempty"`
	PassToPassTests []string `yaml:"pass_to_pass_tests,omitempty"`
	TestCommand     string   `yaml:"test_command,omitempty"`
	LogParser       string   `yaml:"log_parser,omitempty"`
	Assayd          string   `yaml:"assayd,omitempty"`
}

// parseWorkspace reads workspace.yaml. Keys that are not known are somebody else's.
func parseWorkspace(data []byte) (workspace, error) {
	var w workspace
	if !utf8.Valid(data) {
		return w, errors.New("is not UTF-8")
	}
	if err := folder.CheckYAML(data); err != nil {
		return w, err
	}
	err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&w)
	switch {
	case errors.Is(err, io.EOF):
		return w, errors.New("is empty")
	case err != nil:
		return w, fmt.Errorf("is no workspace: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return w.normal(), nil
}

// yaml writes a workspace, and checks that it reads back as what it is.
func (w workspace) yaml() ([]byte, error) {
	data, err := yaml.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", workspaceFile, err)
	}
	again, err := parseWorkspace(data)
	if err != nil || !reflect.DeepEqual(again, w.normal()) {
		return nil, errors.New("it holds text that YAML cannot hold")
	}
	return data, nil
}

// normal has no difference between what is empty and what is not there.
func (w workspace) normal() workspace {
	for _, list := range []*[]string{&w.FailToPass, &w.PassToPass, &w.FailToPassTests, &w.PassToPassTests} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	for _, m := range []*map[string]string{&w.InstallConfig, &w.Meta} {
		if len(*m) == 0 {
			*m = nil
		}
	}
	return w
}
