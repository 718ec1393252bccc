package steer

import (
	"bytes"
	"path"
	"slices"
)

// MaxMerged bounds a settings file that is looked into.
const MaxMerged = 256 << 10

// Mixed are the names of files in which settings of the runners of a parser stand beside what
// honest work changes.
func Mixed(parser string) []string {
	switch parser {
	case "pytest":
		return []string{"pyproject.toml"}
	case "gotest":
		return []string{"go.mod"}
	case "cargo":
		return []string{"Cargo.toml"}
	case "jest", "mocha", "node", "tap":
		return []string{"package.json"}
	}
	return nil
}

// Manifests are files that say where a package begins. A new one below another hides what is
// there from the runner.
func Manifests() []string { return []string{"go.mod", "Cargo.toml", "package.json"} }

// BuildFiles are files of the builders of Java that are all settings and all program.
func BuildFiles() []string { return append(gradleFiles(), "pom.xml", "gradle.properties", "build.sbt") }

// Merge returns a submitted settings file with the runner's part as the judge image has it; base
// is that file, nil where the image has none. What agrees stays as it was written. ok is false
// for a file that cannot be read: then it is not taken.
func Merge(name string, base, submitted []byte) (merged []byte, ok bool) {
	defer func() {
		if recover() != nil { // what a library of ours stumbles over must not stop the daemon
			merged, ok = nil, false
		}
	}()
	if bytes.Equal(base, submitted) {
		return submitted, true
	}
	if len(base) > MaxMerged || len(submitted) > MaxMerged {
		return nil, false
	}
	switch path.Base(name) {
	case "pyproject.toml":
		return mergeTOML(base, submitted, pyproject)
	case "Cargo.toml":
		return mergeTOML(base, submitted, cargoManifest)
	case "package.json":
		return mergePackage(base, submitted)
	case "go.mod":
		return mergeGoMod(base, submitted), true
	}
	return submitted, true
}

// at is the table at a path of keys, or nil. make has it made where there is none.
func at(doc map[string]any, create bool, keys ...string) map[string]any {
	for _, key := range keys {
		next, ok := doc[key].(map[string]any)
		if !ok {
			if !create {
				return nil
			}
			next = map[string]any{}
			doc[key] = next
		}
		doc = next
	}
	return doc
}

// restore gives keys of a table the values that the base has, or none.
func restore(doc, base map[string]any, keys ...string) {
	table, own := at(doc, false, keys[:len(keys)-1]...), at(base, false, keys[:len(keys)-1]...)
	key := keys[len(keys)-1]
	value, ok := own[key]
	switch {
	case ok:
		at(doc, true, keys[:len(keys)-1]...)[key] = value
	case table != nil:
		delete(table, key)
	}
}

func oneOf(name string, names ...string) bool { return slices.Contains(names, name) }
