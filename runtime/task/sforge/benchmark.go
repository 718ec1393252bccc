package sforge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
)

// benchmark is what BENCHMARK.yaml says.
type benchmark struct {
	name  string
	bases map[string]*base
}

// base is one of base_images. All of its spec is in the hash, also what nobody reads.
type base struct {
	task.Base
	hash string
}

func parseBenchmark(data []byte) (*benchmark, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, unreadable(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, faultf(more.Line, "holds more than one YAML document")
	}
	l := loader{scalars: newScalars(), budget: maxLoaded}
	value, err := l.value(&document, 0)
	if err != nil {
		return nil, err
	}
	whole, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("is no map with a name and base_images")
	}
	name, ok := whole["name"].(string)
	if !ok || name == "" {
		return nil, errors.New(`"name" is missing or no text`)
	}
	out := &benchmark{name: name, bases: map[string]*base{}}
	images, ok := whole["base_images"].(map[string]any)
	if !ok && whole["base_images"] != nil {
		return nil, errors.New(`"base_images" is no map`)
	}
	for _, key := range slices.Sorted(maps.Keys(images)) {
		if out.bases[key], err = newBase(name, key, images[key]); err != nil {
			return nil, fmt.Errorf("base image %q: %w", cut(key), err)
		}
	}
	return out, nil
}

// unreadable is an error of the YAML reader, which says the line itself.
func unreadable(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("is empty")
	}
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if n, err := fmt.Sscanf(text, "line %d:", &line); n == 1 && err == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return faultf(line, "is no YAML: %s", text)
}

func newBase(bench, key string, value any) (*base, error) {
	spec, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("is no map")
	}
	for _, name := range []string{"official_image", "extra_packages"} {
		if spec[name] == nil {
			return nil, fmt.Errorf("%q is missing", name)
		}
	}
	text := map[string]string{}
	for _, name := range []string{"official_image", "user_directive", "post_install_directive"} {
		s, ok := spec[name].(string)
		if !ok && spec[name] != nil {
			return nil, fmt.Errorf("%q is no text", name)
		}
		text[name] = s
	}
	lists := map[string][]string{}
	for _, name := range []string{"extra_packages", "pip_packages"} {
		list, err := texts(spec[name])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		lists[name] = list
	}
	hash := baseHash(key, spec)
	b := &base{hash: hash, Base: task.Base{
		Name: key, Ref: imageName(bench, "base", key, hash[:tagLength]),
		Image: text["official_image"], Packages: lists["extra_packages"], PipPackages: lists["pip_packages"],
		User: withoutStart(text["user_directive"]) + tools, PostInstall: agentUser + withoutStart(text["post_install_directive"]),
	}}
	if !slices.Contains(b.Packages, "sudo") {
		b.Packages = append(b.Packages, "sudo")
	}
	return b, checkImage(b.Ref)
}

// What every base gets beside its own directives: tools that ask for nothing while they are
// installed, and the user that agents are.
const (
	tools     = "\nARG DEBIAN_FRONTEND=noninteractive\nENV TZ=Etc/UTC\n"
	agentUser = `RUN id -u agent >/dev/null 2>&1 || useradd -m -s /bin/bash agent
RUN echo 'agent ALL=(ALL) NOPASSWD:ALL' >>/etc/sudoers
RUN ! command -v git >/dev/null || git config --global safe.directory '*'
`
)

// withoutStart leaves ENTRYPOINT and CMD out of directives: every container is started with
// a first process of ours, whatever its image says.
func withoutStart(directives string) string {
	var kept []string
	continued, start := false, false
	for line := range strings.SplitSeq(directives, "\n") {
		text := strings.TrimSpace(line)
		if !continued {
			verb, _, _ := strings.Cut(text, " ")
			start = strings.EqualFold(verb, "ENTRYPOINT") || strings.EqualFold(verb, "CMD")
		}
		if !start {
			kept = append(kept, line)
		}
		if text != "" && !strings.HasPrefix(text, "#") { // these do not end an instruction
			continued = strings.HasSuffix(text, `\`)
		}
	}
	return strings.Join(kept, "\n")
}

func texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, errors.New("is no list")
	}
	var out []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok || s == "" {
			return nil, errors.New("holds something that is no text")
		}
		out = append(out, s)
	}
	return out, nil
}

// Bounds of what aliases may make of a file.
const (
	maxLoaded = 16 << 20 // bytes; each value counts for perNode beside its text
	perNode   = 32
	maxDepth  = 100
)

// loader turns nodes into values as Python's safe loader does.
type loader struct {
	scalars scalars
	budget  int
}

func (l *loader) value(n *yaml.Node, depth int) (any, error) {
	if l.budget -= perNode + len(n.Value); l.budget < 0 || depth > maxDepth {
		return nil, faultf(n.Line, "would take too much when all its aliases are put in")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 1 {
			return l.value(n.Content[0], depth+1)
		}
	case yaml.AliasNode:
		if n.Alias != nil {
			return l.value(n.Alias, depth+1)
		}
	case yaml.SequenceNode:
		return l.list(n, depth)
	case yaml.MappingNode:
		return l.mapping(n, depth)
	case yaml.ScalarNode:
		v, err := l.scalars.value(l.tag(n), n.Value)
		if err != nil {
			return nil, faultf(n.Line, "%s", err)
		}
		return v, nil
	}
	return nil, faultf(n.Line, "holds something unknown")
}

// tag is the one that is written, or what the text looks like where it stands bare.
func (l *loader) tag(n *yaml.Node) string {
	switch {
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!":
		return n.ShortTag()
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		return l.scalars.tag(n.Value)
	}
	return "!!str"
}

func (l *loader) list(n *yaml.Node, depth int) (any, error) {
	if tag := n.ShortTag(); tag != "!!seq" {
		return nil, faultf(n.Line, "a list with the tag %s cannot be hashed", cut(tag))
	}
	out := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := l.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// mapping reads a map: of equal keys the last one counts, and what is merged in yields to
// what is written out.
func (l *loader) mapping(n *yaml.Node, depth int) (any, error) {
	if tag := n.ShortTag(); tag != "!!map" {
		return nil, faultf(n.Line, "a map with the tag %s cannot be hashed", cut(tag))
	}
	merged, own := map[string]any{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && l.tag(key) == "!!merge" {
			if err := l.merge(merged, value, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		name, err := l.value(key, depth+1)
		if err != nil {
			return nil, err
		}
		text, ok := name.(string)
		if !ok {
			return nil, faultf(key.Line, "has a key that is no text: %s", cut(key.Value))
		}
		if own[text], err = l.value(value, depth+1); err != nil {
			return nil, err
		}
	}
	maps.Copy(merged, own)
	return merged, nil
}

// merge adds the entries of a map, or of several of which the first one wins.
func (l *loader) merge(into map[string]any, n *yaml.Node, depth int) error {
	value, err := l.value(n, depth)
	if err != nil {
		return err
	}
	sources, ok := value.([]any)
	if !ok {
		sources = []any{value}
	}
	for _, source := range slices.Backward(sources) {
		entries, ok := source.(map[string]any)
		if !ok {
			return faultf(n.Line, "merges something that is no map")
		}
		maps.Copy(into, entries)
	}
	return nil
}
