package metrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/metrics"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// defined are all metrics by name.
func defined() map[string]metrics.Definition {
	all := map[string]metrics.Definition{}
	for _, d := range metrics.New("v0", &config.Settings{}).Definitions() {
		all[d.Name] = d
	}
	return all
}

// The page has a row for each metric, with its type, its labels and its meaning, and no other.
func TestThePageHasEachMetric(t *testing.T) {
	var page, want [][]string
	for _, m := range regexp.MustCompile("(?m)^\\| `(assayd_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]*?) ?\\| (.*) \\|$").FindAllStringSubmatch(read(t, "../../docs/metrics.md"), -1) {
		page = append(page, m[1:])
	}
	for _, d := range metrics.New("v0", &config.Settings{}).Definitions() {
		want = append(want, []string{d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help})
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("-registry +docs/metrics.md\n%s", diff)
	}
}

// used are the metrics that an expression names.
func used(t *testing.T, text string, all map[string]metrics.Definition) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bassayd_[a-z0-9_]+`).FindAllString(text, -1) {
		d, ok := all[name]
		for _, ending := range []string{"_bucket", "_sum", "_count"} {
			if of := strings.TrimSuffix(name, ending); !ok && of != name && all[of].Type == "histogram" {
				d, ok = all[of], true
			}
		}
		if !ok {
			t.Errorf("%s is no metric", name)
		}
		names[d.Name] = true
	}
	return names
}

// The dashboard shows every metric, and both it and the rules name nothing else.
func TestRulesAndDashboardNameMetricsThatExist(t *testing.T) {
	all := defined()
	for _, rules := range []string{"rules.yml", "rules_test.yml"} {
		if len(used(t, read(t, "../../contrib/prometheus/"+rules), all)) < 15 {
			t.Errorf("%s names hardly any metric", rules)
		}
	}
	shown := used(t, read(t, "../../contrib/grafana/assayd.json"), all)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(shown))); diff != "" {
		t.Errorf("-registry +dashboard\n%s", diff)
	}
}

func TestTheDashboardHasItsRows(t *testing.T) {
	var board struct {
		Panels []struct {
			ID    int
			Type  string
			Title string
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../../contrib/grafana/assayd.json")), &board); err != nil {
		t.Fatal(err)
	}
	var rows []string
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		if ids[p.ID] = true; p.Type == "row" {
			rows = append(rows, p.Title)
		}
	}
	if diff := cmp.Diff([]string{"Health", "Work", "Judge", "Machine", "Models and money", "Mining"}, rows); diff != "" {
		t.Error(diff)
	}
}

// The dashboard is one that Grafana reads, by the schema beside it, and a panel without a query, a place, or our datasource is
// none.
func TestTheDashboardPassesItsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../contrib/grafana/dashboard.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "../../contrib/grafana/assayd.json")
	conforms := func(text string) error {
		board, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(board)
	}
	if err := conforms(text); err != nil {
		t.Error(err)
	}
	for old, wrong := range map[string]string{
		`"expr"`: `"expression"`, `"gridPos"`: `"grid"`, `"${datasource}"`: `"mine"`, `"timeseries"`: `"graph"`, `"schemaVersion"`: `"schema"`, `"refId": "A"`: `"refId": ""`,
	} {
		spoiled := strings.Replace(text, old, wrong, 1)
		if spoiled == text {
			t.Errorf("the dashboard has no %s to spoil", old)
		}
		if conforms(spoiled) == nil {
			t.Errorf("%s in the place of %s passes", wrong, old)
		}
	}
}

// Alerts fire when they should, and only then.
func TestRules(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs promtool, of Prometheus")
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if promtool, err = filepath.Abs("../../.tools/promtool"); err == nil {
			_, err = os.Stat(promtool)
		}
	}
	if err != nil {
		t.Fatalf("the rules were not tested, because promtool is not there: run contrib/setup (%v)", err)
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		check := exec.CommandContext(t.Context(), promtool, args...)
		check.Dir = "../../contrib/prometheus"
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
