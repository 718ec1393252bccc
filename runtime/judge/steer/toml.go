package steer

import (
	"maps"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// mergeTOML has settle put the runner's part of the base into what was submitted.
func mergeTOML(base, submitted []byte, settle func(doc, base map[string]any)) ([]byte, bool) {
	doc, before, own := map[string]any{}, map[string]any{}, map[string]any{}
	if toml.Unmarshal(submitted, &doc) != nil || toml.Unmarshal(submitted, &before) != nil {
		return nil, false
	}
	if toml.Unmarshal(base, &own) != nil {
		own = map[string]any{} // then the runner reads nothing out of it either
	}
	settle(doc, own)
	if reflect.DeepEqual(doc, before) {
		return submitted, true
	}
	merged, err := toml.Marshal(doc)
	return merged, err == nil
}

// pyproject keeps what pytest reads, but for words on tests that the submission may add:
// markers, filters of warnings, and the like leave no test out.
func pyproject(doc, base map[string]any) {
	was := at(doc, false, "tool", "pytest", "ini_options")
	harmless := map[string]any{}
	for key, value := range was {
		if oneOf(key, "markers", "filterwarnings") || strings.HasPrefix(key, "asyncio_") || strings.HasPrefix(key, "log_") {
			harmless[key] = value
		}
	}
	restore(doc, base, "tool", "pytest")
	restore(doc, base, "tool", "coverage")
	restore(doc, base, "tool", "tox")
	restore(doc, base, "tool", "poetry", "plugins", "pytest11")
	restore(doc, base, "project", "entry-points", "pytest11")
	settings := maps.Clone(at(base, false, "tool", "pytest", "ini_options"))
	if settings == nil || len(harmless) == 0 {
		return // without settings of its own the base may have them elsewhere, and these would go first
	}
	maps.Copy(settings, harmless)
	table := maps.Clone(at(base, false, "tool", "pytest"))
	table["ini_options"] = settings
	at(doc, true, "tool")["pytest"] = table
}

// cargoManifest keeps which targets are tests and how they are run, and that what tests need is
// what it was: new dependencies can be added.
func cargoManifest(doc, base map[string]any) {
	for _, key := range []string{"test", "patch", "replace"} {
		restore(doc, base, key)
	}
	for _, key := range []string{"autotests", "default-run"} {
		restore(doc, base, "package", key)
	}
	for _, key := range []string{"test", "doctest", "harness"} {
		restore(doc, base, "lib", key)
	}
	for _, key := range []string{"default-members", "exclude"} {
		restore(doc, base, "workspace", key)
	}
	restore(doc, base, "profile", "test")
	for name := range at(base, false, "dev-dependencies") {
		restore(doc, base, "dev-dependencies", name)
	}
	if target := at(base, false, "target"); target != nil {
		for of := range target {
			for name := range at(base, false, "target", of, "dev-dependencies") {
				restore(doc, base, "target", of, "dev-dependencies", name)
			}
		}
	}
}
