package harbor

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/assayd/assayd/runtime/task/folder"
)

// config is task.toml.
type config struct {
	SchemaVersion any            `toml:"schema_version,omitempty"`
	Version       any            `toml:"version,omitempty"` // of schema 1.0
	Source        string         `toml:"source,omitempty"`
	Artifacts     []any          `toml:"artifacts,omitempty"` // texts or tables
	Strategy      string         `toml:"multi_step_reward_strategy,omitempty"`
	Mode          string         `toml:"multi_step_reward_mode,omitempty"`
	Task          about          `toml:"task,omitempty"`
	Metadata      map[string]any `toml:"metadata,omitempty"`
	Agent         agent          `toml:"agent,omitempty"`
	Verifier      verifier       `toml:"verifier,omitempty"`
	Environment   environment    `toml:"environment,omitempty"`
	Solution      solution       `toml:"solution,omitempty"`
	Steps         []step         `toml:"steps,omitempty"`
}

type about struct {
	Name        string           `toml:"name,omitempty"`
	Version     any              `toml:"version,omitempty"`
	Description string           `toml:"description,omitempty"`
	Authors     []map[string]any `toml:"authors,omitempty"`
	Keywords    []string         `toml:"keywords,omitempty"`
}

type agent struct {
	Timeout     number   `toml:"timeout_sec,omitempty"`
	User        any      `toml:"user,omitempty"`
	NetworkMode string   `toml:"network_mode,omitempty"`
	Hosts       []string `toml:"allowed_hosts,omitempty"`
}

type verifier struct {
	Timeout     number            `toml:"timeout_sec,omitempty"`
	Env         map[string]string `toml:"env,omitempty"`
	User        any               `toml:"user,omitempty"`
	NetworkMode string            `toml:"network_mode,omitempty"`
	Hosts       []string          `toml:"allowed_hosts,omitempty"`
	Mode        string            `toml:"environment_mode,omitempty"`
	Environment *environment      `toml:"environment,omitempty"`
	Collect     []map[string]any  `toml:"collect,omitempty"`
}

type environment struct {
	NetworkMode  string            `toml:"network_mode,omitempty"`
	Hosts        []string          `toml:"allowed_hosts,omitempty"`
	BuildTimeout number            `toml:"build_timeout_sec,omitempty"`
	Image        string            `toml:"docker_image,omitempty"`
	OS           string            `toml:"os,omitempty"`
	CPUs         number            `toml:"cpus,omitempty"`
	MemoryMB     number            `toml:"memory_mb,omitempty"`
	StorageMB    number            `toml:"storage_mb,omitempty"`
	GPUs         number            `toml:"gpus,omitempty"`
	GPUTypes     []string          `toml:"gpu_types,omitempty"`
	TPU          map[string]any    `toml:"tpu,omitempty"`
	MCPServers   []map[string]any  `toml:"mcp_servers,omitempty"`
	Env          map[string]string `toml:"env,omitempty"`
	SkillsDir    string            `toml:"skills_dir,omitempty"`
	Workdir      string            `toml:"workdir,omitempty"`
	Health       map[string]any    `toml:"healthcheck,omitempty"`
	Internet     *bool             `toml:"allow_internet,omitempty"`
	Memory       string            `toml:"memory,omitempty"`
	Storage      string            `toml:"storage,omitempty"`
}

type solution struct {
	Env map[string]string `toml:"env,omitempty"`
}

type step struct {
	Name      string         `toml:"name"`
	Agent     agent          `toml:"agent,omitempty"`
	Verifier  verifier       `toml:"verifier,omitempty"`
	MinReward any            `toml:"min_reward,omitempty"`
	Health    map[string]any `toml:"healthcheck,omitempty"`
	Artifacts []any          `toml:"artifacts,omitempty"`
}

// number is a whole or a broken one; the format does not care.
type number = any

// value of a number, 0 where there is none.
func value(n number) (float64, error) {
	switch v := n.(type) {
	case nil:
		return 0, nil
	case int64:
		return float64(v), nil
	case float64:
		if v != v || v > 1e15 || v < -1e15 {
			return 0, errors.New("is beyond all bounds")
		}
		return v, nil
	}
	return 0, fmt.Errorf("is %v, which is no number", n)
}

// parse reads task.toml. Keys that are not known are told and ignored, as Harbor does.
func parse(data []byte) (c config, unknown []string, line int, err error) {
	if err := folder.CheckTOML(data); err != nil {
		return c, nil, 0, err
	}
	decoder := toml.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&c)
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for _, e := range missing.Errors {
			unknown = append(unknown, strings.Join(e.Key(), "."))
		}
		err = nil
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ = wrong.Position()
		err = errors.New(strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return c, unknown, line, err
}
