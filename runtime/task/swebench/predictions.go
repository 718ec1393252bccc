package swebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/task/folder"
)

// Bounds of a file of predictions.
const (
	maxPredictions  = 512 << 20 // bytes
	maxPrediction   = 64 << 20  // of one
	maxPredictionNr = 1_000_000
)

// Prediction is the patch that a model gave for an instance.
type Prediction struct {
	Instance string // as tasks are named; "" = it is not said
	Model    string
	Patch    []byte // empty = the model changed nothing
	Line     int    // where it stands; 0 = the format has no lines
	Problem  string // why there is no patch, or why it does not count; "" = nothing is wrong
}

// ReadPredictions reads predictions in any of the forms of the family: JSON Lines, a list, or
// an object by instance; patches as model_patch, patch (SWE-bench Pro) or fix_patch
// (Multi-SWE-bench). What is malformed is kept with a Problem, and so is a second prediction for
// an instance. An error says that the whole cannot be read.
func ReadPredictions(r io.Reader) ([]Prediction, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPredictions+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read predictions: %w", err)
	case len(data) > maxPredictions:
		return nil, fmt.Errorf("the predictions are larger than %d MiB", maxPredictions>>20)
	}
	out, err := predictions(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, err
	}
	first := map[string]int{}
	for i := range out {
		p := &out[i]
		at, twice := first[p.Instance]
		switch {
		case p.Instance == "":
		case twice && p.Problem == "":
			p.Problem = "is the second for this instance"
			if line := out[at].Line; line > 0 {
				p.Problem += fmt.Sprintf("; the one in line %d counts", line)
			}
		case !twice:
			first[p.Instance] = i
		}
	}
	return out, nil
}

func predictions(data []byte) ([]Prediction, error) {
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(start) == 0:
		return nil, nil
	case start[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(start, &list); err != nil {
			return nil, fmt.Errorf("the predictions are no JSON: %w", err)
		}
		if len(list) > maxPredictionNr {
			return nil, fmt.Errorf("there are more than %d predictions", maxPredictionNr)
		}
		out := make([]Prediction, len(list))
		for i, raw := range list {
			out[i] = newPrediction(raw, "")
		}
		return out, nil
	case start[0] == '{' && json.Valid(start):
		return predictionsByName(start)
	}
	return predictionLines(data)
}

// predictionsByName reads an object of predictions, or the only one that there is.
func predictionsByName(data []byte) ([]Prediction, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the predictions are no JSON: %w", err)
	}
	var out []Prediction
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the predictions are no JSON: %w", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("the predictions are no JSON: %w", err)
		}
		name, _ := key.(string)
		if isPredictionKey(name) && (len(raw) == 0 || raw[0] != '{') {
			one := newPrediction(data, "")
			one.Line = 1
			return []Prediction{one}, nil
		}
		if out = append(out, newPrediction(raw, name)); len(out) > maxPredictionNr {
			return nil, fmt.Errorf("there are more than %d predictions", maxPredictionNr)
		}
	}
	return out, nil
}

func isPredictionKey(name string) bool {
	switch name {
	case "instance_id", "model_name_or_path", "model_patch", "patch", "prefix", "org", "repo", "number", "fix_patch":
		return true
	}
	return false
}

func predictionLines(data []byte) ([]Prediction, error) {
	var out []Prediction
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		p := newPrediction(line, "")
		p.Line = number
		if out = append(out, p); len(out) > maxPredictionNr {
			return nil, fmt.Errorf("there are more than %d predictions", maxPredictionNr)
		}
	}
	return out, nil
}

// newPrediction reads one; name is that under which it stands.
func newPrediction(raw []byte, name string) Prediction {
	p := Prediction{Instance: instanceName(name)}
	if len(raw) > maxPrediction {
		p.Problem = fmt.Sprintf("is larger than %d MiB", maxPrediction>>20)
		return p
	}
	var patch string
	if name != "" && json.Unmarshal(raw, &patch) == nil {
		p.Patch = []byte(patch)
		return p
	}
	r, err := parseRow(raw)
	if err != nil {
		p.Problem = folder.Shown("is no JSON object: " + err.Error())
		return p
	}
	if id := r.id(); id != "" {
		p.Instance = instanceName(id)
	}
	p.Model = r.first("model_name_or_path", "prefix")
	if p.Instance == "" {
		p.Problem = "does not say for which instance it is"
	}
	for _, key := range []string{"model_patch", "fix_patch", "patch"} {
		if v, ok := r[key]; ok {
			if v.raw {
				p.Problem = fmt.Sprintf("%q is no text", key)
			} else {
				p.Patch = []byte(v.text)
			}
			return p
		}
		if hasKey(raw, key) {
			return p // null: there is no change
		}
	}
	if p.Problem == "" {
		p.Problem = "has no patch"
	}
	return p
}

func hasKey(raw []byte, key string) bool {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(raw, &fields)
	_, ok := fields[key]
	return err == nil && ok
}

func instanceName(id string) string { return strings.ReplaceAll(id, "/", "__") }

// WritePredictions writes predictions as JSON Lines, in their order; those with a Problem are
// left out. The error names patches that are no UTF-8, which JSON cannot hold: all others are
// written all the same.
func WritePredictions(w io.Writer, list []Prediction) error {
	var odd []error
	for _, p := range list {
		if p.Problem != "" {
			continue
		}
		if !utf8.Valid(p.Patch) {
			odd = append(odd, fmt.Errorf("the patch for %s is no UTF-8, and JSON holds nothing else", p.Instance))
			continue
		}
		line := append(jsonText(struct {
			Instance string `json:"instance_id"`
			Model    string `json:"model_name_or_path"`
			Patch    string `json:"model_patch"`
		}{p.Instance, p.Model, string(p.Patch)}), '\n')
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("write predictions: %w", err)
		}
	}
	return errors.Join(odd...)
}
