package dockerfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-units"
	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
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
	Offline    bool    // it reaches no network
	CPUs       float64 // 0 = no limit is set
	Memory     int64   // bytes; 0 = no limit is set
}

// Limit sets the limits of the service, where it has any.
func (s Service) Limit(p *task.Part) {
	p.CPUs, p.Memory = cmp.Or(s.CPUs, p.CPUs), cmp.Or(s.Memory, p.Memory)
}

// Compose reads a compose file. More than one service, or something that a single container
// of ours would lack, is an error that says what.
func Compose(data []byte) (Service, error) {
	var file struct {
		Services map[string]map[string]any `yaml:"services"`
		Networks map[string]struct {
			Internal bool `yaml:"internal"`
		} `yaml:"networks"`
	}
	if err := folder.CheckYAML(data); err != nil {
		return Service{}, err
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
	keys := file.Services[names[0]]
	s, err := service(names[0], keys)
	joined := joins(keys["networks"])
	s.Offline = s.Offline || !slices.ContainsFunc(joined, func(name string) bool { return !file.Networks[name].Internal })
	return s, err
}

// joins are the names of the networks that a service is in.
func joins(value any) (names []string) {
	switch networks := value.(type) {
	case []any:
		for _, name := range networks {
			names = append(names, fmt.Sprint(name))
		}
	case map[string]any:
		names = slices.Sorted(maps.Keys(networks))
	}
	if len(names) == 0 {
		names = []string{"default"}
	}
	return names
}

// harmless keys change nothing that a task sees: what they ask for is ours to decide.
var harmless = []string{
	"container_name", "init", "tty", "stdin_open", "restart", "hostname", "pull_policy",
	"networks", "ports", "expose", "labels", "platform", "stop_grace_period",
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
		case key == "command":
			err = command(value)
		case key == "network_mode":
			err = s.networkMode(fmt.Sprint(value))
		case key == "cpus", key == "mem_limit":
			err = s.limit(key, value)
		case key == "deploy":
			err = s.deploy(value)
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

// idle matches commands that only keep a container there.
var idle = regexp.MustCompile(`^(?:exec )?(?:sleep [0-9a-z. ]+|tail -[fF] \S+|(?:\S*/)?(?:ba)?sh(?: -[il]+)*|while (?:true|:); do sleep [0-9a-z.]+; done;?)$`)

// command may keep the container there, which an agent's does by itself.
func command(value any) error {
	var words []string
	switch line := value.(type) {
	case nil:
		return nil
	case []any:
		for _, word := range line {
			words = append(words, fmt.Sprint(word))
		}
	default:
		words = []string{fmt.Sprint(line)}
	}
	text := strings.Join(words, " ")
	inner := regexp.MustCompile(`^(?:\S*/)?(?:ba)?sh -l?c (.+)$`)
	bare := text
	if m := inner.FindStringSubmatch(text); m != nil {
		bare = strings.Trim(m[1], `"' `)
	}
	if !idle.MatchString(bare) {
		return fmt.Errorf("starts %q, and nothing is started here before an agent is", text)
	}
	return nil
}

func (s *Service) networkMode(mode string) error {
	switch mode {
	case "none":
		s.Offline = true
	case "", "bridge", "default":
	default:
		return fmt.Errorf("is in the network of something else (network_mode %s)", mode)
	}
	return nil
}

// limit takes one over. A harness's own variables are its words for "as the task says".
func (s *Service) limit(name string, value any) error {
	text := fmt.Sprint(value)
	if value == nil || strings.HasPrefix(text, "${") {
		return nil
	}
	var err error
	switch name {
	case "cpus":
		s.CPUs, err = strconv.ParseFloat(text, 64)
		if err == nil && !(s.CPUs >= 0 && s.CPUs < 1e6) {
			err = errors.New("is beyond all bounds")
		}
	default:
		s.Memory, err = units.RAMInBytes(text)
	}
	if err != nil {
		return fmt.Errorf("%s is %q, which is no limit", name, text)
	}
	return nil
}

// deploy is of interest for its limits.
func (s *Service) deploy(value any) error {
	part := func(v any, name string) map[string]any {
		m, _ := v.(map[string]any)
		inner, _ := m[name].(map[string]any)
		return inner
	}
	resources := part(value, "resources")
	if _, ok := part(resources, "reservations")["devices"]; ok {
		return errors.New("reserves devices, which a container here does not get")
	}
	limits := part(resources, "limits")
	return errors.Join(s.limit("cpus", limits["cpus"]), s.limit("memory", limits["memory"]))
}

func (s *Service) environment(value any) error {
	foreign := func(name string) error {
		return fmt.Errorf("takes %s from the environment of whoever runs it, which is not read here", name)
	}
	switch env := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if env[name] == nil {
				return foreign(name)
			}
			s.Env[name] = fmt.Sprint(env[name])
		}
	case []any:
		for _, pair := range env {
			name, v, ok := strings.Cut(fmt.Sprint(pair), "=")
			if !ok {
				return foreign(name)
			}
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
