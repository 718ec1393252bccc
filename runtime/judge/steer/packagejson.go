package steer

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
)

// mergePackage keeps what runners read in package.json, and the scripts that start them.
func mergePackage(base, submitted []byte) ([]byte, bool) {
	doc, ok := object(submitted)
	before, _ := object(submitted)
	if !ok {
		return nil, false
	}
	own, ok := object(base)
	if !ok {
		own = map[string]any{}
	}
	for _, key := range []string{"jest", "mocha", "ava", "tap", "babel", "nyc", "c8", "vitest", "jasmine", "swc", "pnpm"} {
		restore(doc, own, key)
	}
	scripts := at(own, false, "scripts")
	asked := reached(scripts)
	for name := range at(doc, false, "scripts") {
		if asked[name] || hook(name, asked) {
			restore(doc, own, "scripts", name)
		}
	}
	for name := range asked {
		restore(doc, own, "scripts", name)
	}
	if reflect.DeepEqual(doc, before) {
		return submitted, true
	}
	merged, err := json.MarshalIndent(doc, "", "  ")
	return append(merged, '\n'), err == nil
}

// object reads a JSON object, with its numbers as they are written.
func object(text []byte) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	d.UseNumber()
	doc := map[string]any{}
	if d.Decode(&doc) != nil || d.More() || doc == nil {
		return nil, false
	}
	return doc, true
}

// reached are the scripts that "npm test" comes to, those that it names in turn among them.
func reached(scripts map[string]any) map[string]bool {
	word := regexp.MustCompile(`[\w:.-]+`)
	found := map[string]bool{}
	queue := []string{"test", "t", "tst"}
	for name := range scripts {
		if strings.HasPrefix(name, "test") {
			queue = append(queue, name)
		}
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if found[name] {
			continue
		}
		found[name] = true
		text, _ := scripts[name].(string)
		for _, other := range append(word.FindAllString(text, -1), "pre"+name, "post"+name) {
			if _, ok := scripts[other]; ok {
				queue = append(queue, other)
			}
		}
	}
	return found
}

// hook reports whether a script is run before or after one of these.
func hook(name string, of map[string]bool) bool {
	for _, prefix := range []string{"pre", "post"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (of[rest] || strings.HasPrefix(rest, "test")) {
			return true
		}
	}
	return strings.HasPrefix(name, "test")
}
