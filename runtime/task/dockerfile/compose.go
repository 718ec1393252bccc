package dockerfile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Service is the one container that a compose file comes down to.
type Service struct {
	Name       string
	Image      string
	Context    string // folder of the build context, relative to that of the file; "" = none
	Dockerfile string // name in it
	Workdir    string
	User       string
	Env        map[string]string
}

// Compose reads a compose file. More than one service, or something that a single container
// of ours would lack, is an error that says what.
func Compose(data []byte) (Service, error) {
	var file struct {
		Services map[string]map[string]any `yaml:"services"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return Service{}, fmt.Errorf("is no compose file: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	names := slices.Sorted(maps.Keys(file.Services))
	if len(names) == 0 {
		return Service{}, errors.New("has no services")
	}
	if len(names) > 1 {
		return Service{}, fmt.Errorf("needs %d containers side by side (%s); a task has one", len(names), strings.Join(names, ", "))
	}
	return service(names[0], file.Services[names[0]])
}

// harmless keys change nothing that a task sees: what they ask for is ours to decide.
var harmless = []string{
	"container_name", "command", "init", "tty", "stdin_open", "restart", "deploy", "hostname", "pull_policy",
	"cpus", "mem_limit", "networks", "network_mode", "ports", "expose", "labels", "platform", "stop_grace_period",
}

func service(name string, keys map[string]any) (s Service, err error) {
	s = Service{Name: name, Env: map[string]string{}}
	text := func(v any) string { t, _ := v.(string); return t }
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := keys[key]
		switch {
		case key == "image":
			s.Image = ours(text(value))
		case key == "working_dir":
			s.Workdir = text(value)
		case key == "user":
			s.User = fmt.Sprint(value)
		case key == "build":
			err = s.build(value)
		case key == "environment":
			err = s.environment(value)
		case key == "volumes":
			err = volumes(value)
		case !slices.Contains(harmless, key):
			err = fmt.Errorf("asks for %q, which a container here does not get", key)
		}
		if err != nil {
			return s, fmt.Errorf("service %s: %w", name, err)
		}
	}
	return s, nil
}

// ours is "" for the name that a harness gives an image which it builds itself.
func ours(image string) string {
	if strings.Contains(image, "${") {
		return ""
	}
	return image
}

func (s *Service) build(value any) error {
	s.Context, s.Dockerfile = ".", "Dockerfile"
	switch build := value.(type) {
	case string:
		s.Context = build
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(build)) {
			text, _ := build[key].(string)
			switch key {
			case "context":
				s.Context = text
			case "dockerfile":
				s.Dockerfile = text
			case "network", "pull", "no_cache", "platforms", "tags", "labels":
			default:
				return fmt.Errorf("its build has %q, which is not done here", key)
			}
		}
	default:
		return errors.New("its build cannot be read")
	}
	if strings.Contains(s.Context, "$") {
		s.Context = "."
	}
	s.Context = path.Clean(s.Context)
	if path.IsAbs(s.Context) || strings.HasPrefix(s.Context, "..") {
		return fmt.Errorf("it is built in %q, outside of the task", s.Context)
	}
	return nil
}

func (s *Service) environment(value any) error {
	switch env := value.(type) {
	case map[string]any:
		for name, v := range env {
			s.Env[name] = ""
			if v != nil {
				s.Env[name] = fmt.Sprint(v)
			}
		}
	case []any:
		for _, pair := range env {
			name, v, _ := strings.Cut(fmt.Sprint(pair), "=")
			s.Env[name] = v
		}
	default:
		return errors.New("its environment cannot be read")
	}
	return nil
}

// volumes are fine where they are the harness's own, for logs and tests.
func volumes(value any) error {
	list, _ := value.([]any)
	for _, v := range list {
		if text, ok := v.(string); !ok || !strings.HasPrefix(text, "${") {
			return fmt.Errorf("mounts %q, which is not there", fmt.Sprint(v))
		}
	}
	return nil
}
