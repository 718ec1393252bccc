package folder

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of files of settings. Readers of TOML and YAML take time in the square of the keys of
// one table, and memory for each table in a table.
const (
	maxKeys  = 5000 // of one mapping
	maxLines = 20_000
	maxDots  = 100 // of one key, tables in each other
	maxParts = 500_000
)

// CheckYAML refuses a text that would take long to read into values, before it is.
func CheckYAML(data []byte) error {
	if bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte(",")) > maxParts {
		return fmt.Errorf("has more than %d lines and commas", maxParts)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil //nolint:nilerr // who reads it into values says so
	}
	return checkNode(&document)
}

func checkNode(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys {
		return fmt.Errorf("line %d: a mapping has more than %d keys", n.Line, maxKeys)
	}
	for _, inner := range n.Content { // no deeper than the reader itself allows
		if err := checkNode(inner); err != nil {
			return err
		}
	}
	return nil
}

// CheckTOML is CheckYAML for TOML.
func CheckTOML(data []byte) error {
	if bytes.Count(data, []byte("\n")) > maxLines || bytes.Count(data, []byte("=")) > maxLines {
		return fmt.Errorf("has more than %d lines, or as many values", maxLines)
	}
	for line := range bytes.Lines(data) {
		key := line
		if i := bytes.IndexAny(line, `="'#`); i >= 0 {
			key = line[:i]
		}
		if bytes.Count(key, []byte(".")) > maxDots && len(strings.Fields(string(key))) <= 2 {
			return errors.New("has a key of more than a hundred parts")
		}
	}
	return nil
}
