package arch

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages of this module each package may import. A package without
// an entry is a part of the one above it: it may import the same and may be imported by
// it. Arrows go one way:
//
//	daemon -> reconcile -> {trial, mining} -> {judge, agent, gateway, image, guest} -> {container, task, llm}
//
// An entry that ends in /* holds for every package below. The daemon may import all.
// Any may import runtime/fault, runtime/clock, runtime/kernel, runtime/keylock, runtime/truncate, and
// runtime/waiting, which import nothing.
// What is under contrib and examples is no part of the program: it may import all, and
// nobody may import it. Nor are packages for tests (containertest, modeltest): only tests import them.
var mayImport = map[string][]string{
	"config":       {"config/shell"},
	"config/shell": {},

	"runtime/clock":                       {},
	"runtime/fault":                       {},
	"runtime/kernel":                      {},
	"runtime/truncate":                    {},
	"runtime/waiting":                     {},
	"runtime/keylock":                     {},
	"runtime/pause":                       {"runtime/clock"},
	"runtime/stats":                       {},
	"runtime/container":                   {},
	"runtime/container/docker":            {"runtime/container"},
	"runtime/container/kubernetes":        {"runtime/container"},
	"runtime/container/containertest":     {"runtime/container"},
	"runtime/container/docker/dockertest": {"runtime/container", "runtime/container/docker", "runtime/container/containertest"},
	"runtime/task":                        {},
	"runtime/untar":                       {},
	"runtime/task/*":                      {"runtime/task", "runtime/task/folder", "runtime/task/runner", "runtime/task/dockerfile", "runtime/patch"},
	"runtime/task/remote":                 {"runtime/git", "runtime/untar"},
	"runtime/guest":                       {"runtime/guest/protocol", "runtime/guest/safefile", "runtime/guest/worktree", "runtime/guest/client", "runtime/guest/judgecmd"},
	"runtime/llm":                         {},
	"runtime/git":                         {},
	"runtime/patch":                       {"runtime/git", "runtime/untar"},
	"runtime/image":                       {"runtime/container", "runtime/task", "runtime/patch", "runtime/image/clone", "runtime/image/dockerfile", "runtime/git"},
	"runtime/image/clone":                 {"runtime/task", "runtime/git"},
	"runtime/image/dockerfile":            {},
	"runtime/judge/parser":                {},
	"runtime/decoy":                       {"runtime/decoy/source", "runtime/decoy/replacement"},
	"runtime/decoy/source":                {},
	"runtime/decoy/replacement":           {"runtime/decoy/source"},
	"runtime/decoy/mixed":                 {"runtime/decoy"},
	"runtime/decoy/prove":                 {"runtime/decoy", "runtime/decoy/mixed"},
	"runtime/judge/steer":                 {"runtime/judge/parser"},
	"runtime/judge/round":                 {"runtime/task", "runtime/judge/parser"},
	"runtime/judge/scoring":               {"runtime/task", "runtime/judge/parser", "runtime/judge/round"},
	"runtime/judge/sanitize":              {"runtime/task", "runtime/patch", "runtime/judge/round", "runtime/judge/steer"},
	"runtime/judge/sandbox":               {"runtime/task", "runtime/container", "runtime/judge/round", "runtime/judge/sanitize", "runtime/judge/steer"},
	"runtime/judge/game":                  {"runtime/task", "runtime/container", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/sandbox"},
	"runtime/judge/httpapi":               {"runtime/task", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/game"},
	"runtime/judge/judgetest":             {"runtime/patch", "runtime/judge/round"},
	"runtime/guest/safefile":              {},
	"runtime/guest/worktree":              {"runtime/guest/safefile"},
	"runtime/guest/client":                {"runtime/guest/protocol", "runtime/guest/safefile", "runtime/guest/worktree"},
	"runtime/guest/judgecmd":              {"runtime/guest/protocol"},
	"runtime/guest/protocol":              {},
	"runtime/judge": {
		"runtime/container", "runtime/task", "runtime/task/runner", "runtime/image", "runtime/patch", "runtime/judge/parser", "runtime/judge/steer",
		"runtime/judge/round", "runtime/judge/scoring", "runtime/judge/sanitize", "runtime/judge/sandbox", "runtime/judge/game", "runtime/judge/httpapi",
	},
	"runtime/vet":                      {"runtime/task", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/parser"},
	"runtime/gateway":                  {"runtime/task", "runtime/llm", "runtime/gateway/wire"},
	"runtime/gateway/wire":             {"runtime/gateway/transcript", "runtime/gateway/transcript/values"},
	"runtime/gateway/modeltest":        {},
	"runtime/mining/github/githubtest": {"runtime/mining/github"},
	"runtime/cheat":                    {"runtime/gateway/transcript"},
	"runtime/egress":                   {},
	"runtime/layer":                    {"runtime/untar"},
	"runtime/agent":                    {"runtime/task", "runtime/llm", "runtime/layer", "runtime/untar"},
	"runtime/trial/agentlog":           {},
	"runtime/trial/trydir":             {"runtime/agent", "runtime/gateway", "runtime/guest/protocol"},
	"runtime/trial/worktree": {
		"runtime/container", "runtime/image", "runtime/task", "runtime/judge/sanitize", "runtime/patch", "runtime/decoy/mixed",
	},
	"runtime/trial/link":      {"runtime/gateway", "runtime/egress", "runtime/guest/protocol", "runtime/trial/agentlog"},
	"runtime/trial/install":   {"runtime/agent", "runtime/container", "runtime/image", "runtime/layer", "runtime/task"},
	"runtime/trial/reference": {"runtime/task", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/parser"},
	"runtime/trial/scan": {
		"runtime/cheat", "runtime/task", "runtime/judge/round", "runtime/judge/parser", "runtime/patch",
		"runtime/trial/agentlog", "runtime/trial/trydir", "runtime/trial/worktree",
	},
	"runtime/trial/tryrounds": {"runtime/task", "runtime/judge", "runtime/judge/round", "runtime/judge/scoring"},
	"runtime/trial/record":    {},
	"runtime/trial/mixedruns": {
		"runtime/task", "runtime/judge", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/parser", "runtime/decoy/mixed",
	},
	"runtime/trial": {
		"runtime/trial/agentlog", "runtime/trial/trydir", "runtime/trial/record", "runtime/trial/tryrounds", "runtime/trial/scan", "runtime/trial/reference", "runtime/trial/install", "runtime/trial/link", "runtime/trial/worktree", "runtime/trial/mixedruns",
		"config", "runtime/container", "runtime/image", "runtime/task", "runtime/judge", "runtime/judge/parser",
		"runtime/judge/round", "runtime/judge/scoring", "runtime/judge/sanitize", "runtime/judge/sandbox",
		"runtime/agent", "runtime/guest/protocol", "runtime/gateway", "runtime/gateway/transcript", "runtime/egress", "runtime/layer", "runtime/patch", "runtime/cheat", "runtime/decoy/mixed",
	},
	"runtime/mining": {
		"config", "runtime/container", "runtime/image", "runtime/task", "runtime/judge/round", "runtime/llm", "runtime/gateway",
		"runtime/git", "runtime/task/runner", "runtime/task/folder",
		"runtime/mining/archive", "runtime/mining/github", "runtime/mining/extract", "runtime/mining/screen", "runtime/mining/triage",
		"runtime/mining/statement", "runtime/mining/workbench", "runtime/mining/proof", "runtime/mining/output", "runtime/mining/reason",
		"runtime/mining/diff",
	},
	"runtime/mining/*":       {"runtime/llm", "runtime/git", "runtime/mining/github", "runtime/mining/reason"},
	"runtime/mining/reason":  {},
	"runtime/mining/github":  {"runtime/mining/reason"},
	"runtime/mining/extract": {"runtime/git", "runtime/mining/github", "runtime/mining/reason", "runtime/mining/screen"},
	"runtime/mining/triage":  {"runtime/llm", "runtime/mining/statement/code"},
	"runtime/mining/diff":    {},
	"runtime/mining/statement": {
		"runtime/llm", "runtime/mining/github", "runtime/mining/reason", "runtime/mining/screen", "runtime/mining/statement/code",
	},
	"runtime/mining/statement/code": {"runtime/mining/diff"},
	"runtime/mining/proof": {
		"runtime/task", "runtime/judge/round", "runtime/judge/parser", "runtime/patch", "runtime/task/runner", "runtime/mining/reason", "runtime/mining/statement/code",
		"runtime/mining/diff",
	},
	"runtime/mining/workbench": {
		"runtime/container", "runtime/judge/parser", "runtime/llm", "runtime/patch", "runtime/task/runner", "runtime/mining/reason",
	},
	"runtime/mining/output": {
		"runtime/task", "runtime/task/folder", "runtime/task/sforge", "runtime/task/sweforge", "runtime/task/swebench", "runtime/task/harbor", "runtime/mining/github",
	},

	"reconcile/admission": {"runtime/judge/round"},
	"reconcile/plan": {
		"config", "config/shell", "runtime/trial", "reconcile/admission",
		// The plain values that a run is compiled into.
		"runtime/task", "runtime/task/sweforge", "runtime/agent", "runtime/guest/protocol", "runtime/gateway",
	},
	"reconcile/summary": {"runtime/judge/round", "runtime/judge/scoring", "runtime/stats", "runtime/task", "runtime/trial", "runtime/trial/mixedruns"},
	"reconcile/store": {
		"reconcile/store/blob", "reconcile/store/statedir", "reconcile/store/record", "reconcile/store/change", "reconcile/store/writequeue",
	},
	"reconcile/store/record":     {},
	"reconcile/store/change":     {},
	"reconcile/store/writequeue": {},
	"reconcile/store/blob":       {"reconcile/store/statedir"},
	"reconcile/store/statedir":   {},
	"reconcile/results":          {},
	"reconcile/store/storetest":  {"reconcile/store"},
	"reconcile/report":           {"reconcile/summary"},
	"reconcile/ledger": {
		"config", "reconcile/store", "reconcile/results", "runtime/gateway", "runtime/judge/round",
		// What the book of mining is about.
		"runtime/mining", "runtime/mining/github", "runtime/mining/output", "runtime/mining/workbench",
	},
	"reconcile/history": {
		"config", "reconcile/store", "reconcile/ledger", "reconcile/plan", "reconcile/summary", "runtime/trial", "runtime/trial/record", "runtime/trial/tryrounds", "runtime/judge/round",
		// Of what outcomes are made.
		"runtime/task", "runtime/agent",
	},
	"reconcile/export": {
		"reconcile/store", "reconcile/ledger", "reconcile/history", "runtime/trial", "runtime/trial/trydir", "runtime/trial/mixedruns", "runtime/trial/agentlog", "runtime/judge/round", "runtime/judge/scoring", "runtime/judge/parser", "runtime/guest/protocol",
	},
	"reconcile/query": {
		"config", "reconcile/store", "reconcile/ledger", "reconcile/history", "reconcile/hold", "reconcile/note", "reconcile/budget", "reconcile/plan", "reconcile/summary", "reconcile/request", "reconcile/query/snapshot", "reconcile/query/archive", "reconcile/query/trialview", "reconcile/query/summaries", "reconcile/store/change", "reconcile/query/tasklookup", "runtime/trial/trydir", "runtime/trial/mixedruns", "runtime/trial/agentlog", "runtime/judge/round", "runtime/judge/parser", "runtime/gateway/transcript",
		// What is told of trials and mining.
		"runtime/trial", "runtime/mining", "runtime/gateway", "runtime/task", "runtime/patch", "runtime/clock",
	},
	"reconcile/query/archive": {},
	"reconcile/query/trialview": {
		"reconcile/store", "reconcile/ledger", "reconcile/history", "reconcile/note", "reconcile/plan", "reconcile/request", "reconcile/query/archive",
		// What is told of trials and rounds.
		"runtime/trial", "runtime/trial/agentlog", "runtime/trial/mixedruns", "runtime/trial/trydir", "runtime/trial/record", "runtime/judge/scoring", "runtime/judge/round", "runtime/judge/parser", "runtime/gateway", "runtime/gateway/transcript",
	},
	"reconcile/query/summaries":     {"reconcile/store", "reconcile/history", "reconcile/summary", "reconcile/request", "reconcile/query/snapshot", "runtime/clock"},
	"reconcile/query/tasklookup":    {"config", "reconcile/plan", "reconcile/request", "runtime/task", "runtime/trial"},
	"reconcile/query/snapshot":      {"config", "reconcile/plan", "reconcile/request", "runtime/mining"},
	"reconcile/hold":                {"reconcile/store", "reconcile/plan"},
	"reconcile/request":             {"config"},
	"reconcile/note":                {"reconcile/store", "reconcile/request"},
	"reconcile/control":             {"reconcile/store", "reconcile/plan", "reconcile/hold", "reconcile/note", "reconcile/request", "runtime/trial"},
	"reconcile/budget":              {"config", "reconcile/store", "reconcile/history", "reconcile/hold", "reconcile/ledger", "reconcile/plan", "runtime/gateway"},
	"reconcile/history/historytest": {"reconcile/store", "reconcile/history", "reconcile/plan", "config", "runtime/trial", "runtime/clock"},
	"reconcile/evaluate": {
		"config", "reconcile/store", "reconcile/ledger", "reconcile/history", "reconcile/plan", "reconcile/query", "reconcile/admission", "reconcile/request", "reconcile/query/tasklookup", "runtime/trial", "runtime/container", "runtime/trial/trydir", "runtime/trial/reference", "runtime/trial/worktree", "runtime/trial/mixedruns",
		// What mining works in.
		"runtime/mining/workbench",
		// What is judged, and how what it shows is read.
		"runtime/task", "runtime/task/swebench", "runtime/judge/round", "runtime/judge/scoring", "runtime/patch", "runtime/decoy", "runtime/decoy/mixed", "runtime/decoy/prove",
	},
	"reconcile/taskcheck": {
		"config", "reconcile/plan", "reconcile/query", "reconcile/evaluate", "reconcile/request", "reconcile/query/tasklookup", "runtime/trial", "runtime/container", "runtime/image", "runtime/task", "runtime/vet", "runtime/trial/worktree", "runtime/trial/mixedruns",
		// By whom a task is rated, and of what the names of tests are read.
		"runtime/mining", "runtime/gateway", "runtime/gateway/wire", "runtime/judge/parser", "runtime/decoy",
	},
	"reconcile/specfiles": {"config"},
	"reconcile/specs":     {"config", "reconcile/store", "reconcile/history", "reconcile/plan", "reconcile/query", "reconcile/miningspec", "reconcile/specfiles"},
	"reconcile/cheatscan": {"reconcile/store", "reconcile/ledger", "reconcile/history", "runtime/trial", "runtime/judge/round"},
	"reconcile/troubles":  {"runtime/container"},
	"reconcile/workqueue": {},
	"reconcile/upgrade":   {"reconcile/store", "reconcile/history"},
	"reconcile/drive": {
		"reconcile/store", "reconcile/ledger", "reconcile/history", "reconcile/plan", "reconcile/admission", "reconcile/cheatscan", "reconcile/control", "reconcile/troubles", "runtime/trial", "runtime/container",
		// The unjudged rounds that a judge resumes.
		"runtime/judge/round",
	},
	"reconcile/preview":    {"config", "reconcile/store", "reconcile/history", "reconcile/plan", "reconcile/admission", "reconcile/budget", "reconcile/miningspec", "reconcile/pinned"},
	"reconcile/cellindex":  {"reconcile/store", "reconcile/history", "reconcile/plan", "reconcile/budget", "runtime/trial"},
	"reconcile/pinned":     {"config", "reconcile/store", "reconcile/history", "reconcile/plan", "runtime/trial", "runtime/image"},
	"reconcile/miningspec": {"config", "reconcile/store", "reconcile/control", "reconcile/ledger", "reconcile/plan", "reconcile/request", "runtime/mining", "runtime/pause"},
	"reconcile/retention": {
		"config", "reconcile/store", "reconcile/history", "reconcile/plan", "reconcile/query", "reconcile/troubles", "runtime/trial", "runtime/container", "reconcile/request", "reconcile/query/snapshot", "reconcile/query/tasklookup", "runtime/trial/trydir",
		// Of what images are, and by what containers of the judge are known.
		"runtime/task", "runtime/image", "runtime/judge/sandbox",
	},
	"reconcile/foreign": {
		"reconcile/store", "reconcile/ledger", "reconcile/history", "reconcile/plan", "reconcile/evaluate", "reconcile/query/snapshot", "runtime/trial", "reconcile/query", "runtime/trial/trydir",
		// What is told, and in whose words.
		"runtime/task", "runtime/task/swebench", "runtime/task/sweforge", "runtime/judge/round", "runtime/judge/parser", "runtime/judge/scoring",
	},
	"reconcile": {
		"config", "runtime/trial", "runtime/mining", "runtime/container", "reconcile/store", "reconcile/results", "reconcile/admission", "reconcile/plan", "reconcile/ledger", "reconcile/history", "reconcile/summary", "reconcile/query", "reconcile/evaluate", "reconcile/taskcheck", "reconcile/foreign", "reconcile/retention", "reconcile/specs", "reconcile/cellindex", "reconcile/drive", "reconcile/preview", "reconcile/troubles", "reconcile/upgrade", "reconcile/workqueue", "reconcile/cheatscan", "reconcile/pinned", "reconcile/miningspec", "reconcile/hold", "reconcile/control", "reconcile/budget", "reconcile/specfiles", "reconcile/request", "reconcile/query/snapshot", "reconcile/query/trialview", "reconcile/query/summaries", "reconcile/store/change", "reconcile/store/writequeue", "runtime/trial/trydir", "runtime/trial/record",
		// What cells are made of, the verdicts of the judge, and what names of images mean.
		"runtime/task", "runtime/judge/round", "runtime/image",
		// What a miner is given.
		"runtime/mining/screen", "runtime/mining/workbench",
	},

	"daemon/watch":    {},
	"daemon/notify":   {},
	"daemon/samples":  {},
	"daemon/web":      {"daemon/api", "daemon/web/page", "reconcile/control", "reconcile/store", "reconcile/history", "reconcile/query", "reconcile/summary", "reconcile/request", "reconcile/query/snapshot", "reconcile/query/trialview", "reconcile/query/summaries", "reconcile/query/tasklookup"},
	"daemon/socket":   {"daemon/api", "reconcile/control"},
	"daemon/hostinfo": {"config", "daemon/engines", "reconcile/admission", "runtime/container"},
	"daemon/web/page": {
		"config", "daemon/samples", "reconcile/hold", "reconcile/note", "reconcile/query", "reconcile/report", "reconcile/summary", "runtime/judge/parser", "runtime/judge/round", "runtime/gateway/transcript", "reconcile/query/trialview", "reconcile/query/archive",
	},
	"daemon":     {"*"},
	"daemon/*":   {"*"},
	"contrib/*":  {"*"},
	"examples/*": {"*"},
}

// everybodys packages may be imported by any other.
var everybodys = []string{"runtime/clock", "runtime/pause", "runtime/fault", "runtime/kernel", "runtime/waiting", "runtime/truncate", "runtime/keylock"}

// onlyStd lists the packages that use nothing but the standard library, and each other.
var onlyStd = []string{"runtime/clock", "runtime/fault", "runtime/waiting", "runtime/truncate", "runtime/keylock", "runtime/untar", "runtime/guest", "runtime/container", "runtime/task", "runtime/judge/parser", "runtime/decoy", "runtime/decoy/source", "runtime/decoy/replacement", "runtime/gateway/modeltest", "runtime/egress"}

// ownerOf says which package alone may import an SDK, so that the SDK can be replaced
// there and its types appear nowhere else. One that ends in /* is every package below: of
// formats, which are files in another's words. Blanks stand between several.
var ownerOf = map[string]string{
	// An engine is named in one place.
	"github.com/assayd/assayd/runtime/container/docker": "daemon/engines runtime/container/docker/dockertest",

	"github.com/moby/moby":              "runtime/container/docker",
	"github.com/moby/buildkit":          "runtime/image runtime/image/dockerfile",
	"github.com/docker/docker":          "runtime/container/docker",
	"github.com/containerd/errdefs":     "runtime/container/docker",
	"k8s.io":                            "runtime/container/kubernetes",
	"modernc.org/sqlite":                "reconcile/store",
	"github.com/hashicorp/go-immutable": "reconcile/query/snapshot",
	"github.com/hashicorp/hcl/v2":       "config",
	"github.com/zclconf/go-cty":         "config",
	"github.com/agext/levenshtein":      "config",
	"github.com/fsnotify/fsnotify":      "daemon/watch",
	"github.com/prometheus":             "daemon/metrics",
	"go.opentelemetry.io":               "daemon/trace daemon/trace/tracetest",
	"github.com/coreos/go-systemd/v22":  "daemon/notify",
	"github.com/spf13/cobra":            "daemon/cli",
	"github.com/tmaxmax/go-sse":         "daemon/api",
	"github.com/guptarohit/asciigraph":  "daemon/cli",
	"github.com/chromedp":               "daemon/web/webtest",
	"github.com/aymanbagabas/go-udiff":  "reconcile/query/archive",
	"github.com/getkin/kin-openapi":     "daemon/api/apitest",
	"github.com/santhosh-tekuri":        "daemon/api/apitest",
	"go.yaml.in/yaml/v3":                "runtime/task/*",
	"github.com/parquet-go/parquet-go":  "runtime/task/swebench",
	"github.com/klauspost/compress":     "runtime/task/* runtime/mining/archive daemon/web",
	"github.com/pelletier/go-toml":      "runtime/task/harbor runtime/judge/steer",
	"github.com/google/go-github":       "runtime/mining/github",
	"github.com/sashabaranov/go-openai": "runtime/llm",
	"gonum.org/v1/gonum":                "runtime/stats",
	"mvdan.cc/sh":                       "runtime/cheat config/shell",
}

func TestArrowsGoOneWay(t *testing.T) {
	for path, p := range packages(t) {
		allowed, ok := rule(path)
		if !ok {
			t.Errorf("%s is not in the table of imports: enter it in contrib/arch/imports_test.go", path)
			continue
		}
		for _, imported := range p.ours() {
			if !partOfProgram(imported) && partOfProgram(path) {
				t.Errorf("%s imports %s, which is no part of the program", path, imported)
			}
			if slices.Contains(everybodys, imported) {
				continue
			}
			if !slices.Contains(allowed, "*") && !slices.Contains(allowed, imported) && !partOf(imported, path) {
				t.Errorf("%s imports %s; it may import %s", path, imported, strings.Join(allowed, ", "))
			}
		}
	}
}

func TestEachSDKHasOneImporter(t *testing.T) {
	for path, p := range packages(t) {
		if !partOfProgram(path) {
			continue
		}
		for _, imported := range p.Imports {
			for sdk, owners := range ownerOf {
				if below(imported, sdk) && !slices.ContainsFunc(strings.Fields(owners), func(owner string) bool {
					family, isFamily := strings.CutSuffix(owner, "/*")
					return path == owner || isFamily && below(path, family)
				}) {
					t.Errorf("%s imports %s, which is the business of %s alone", path, imported, owners)
				}
			}
		}
	}
}

func TestLeavesUseOnlyTheStandardLibrary(t *testing.T) {
	all := packages(t)
	for _, path := range onlyStd {
		if _, ok := all[path]; !ok {
			continue // not built yet
		}
		for _, dep := range list[pkg](t, "list", "-deps", "-json=ImportPath,Standard", "./"+path) {
			of := strings.TrimPrefix(dep.ImportPath, module)
			if !dep.Standard && !below(of, path) && !slices.Contains(onlyStd, of) && !slices.Contains(everybodys, of) {
				t.Errorf("%s needs %s", path, dep.ImportPath)
			}
		}
	}
}

// Reading the language starts no program and fetches nothing, whatever its libraries may
// grow.
func TestConfigReachesNothingOutside(t *testing.T) {
	for _, dep := range list[pkg](t, "list", "-deps", "-json=ImportPath", "./config") {
		if dep.ImportPath == "net/http" || dep.ImportPath == "os/exec" {
			t.Errorf("config needs %s", dep.ImportPath)
		}
	}
}

func TestRuntimeIsAFolderAndNoPackage(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "runtime", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Errorf("%s: a package runtime would shadow the standard one", file)
	}
}

// rule finds the entry of mayImport for a package: its own, or the nearest above it.
func rule(path string) ([]string, bool) {
	if allowed, ok := mayImport[path]; ok {
		return allowed, true
	}
	for parent := filepath.Dir(path); parent != "."; parent = filepath.Dir(parent) {
		if allowed, ok := mayImport[parent+"/*"]; ok {
			return allowed, true
		}
		if allowed, ok := mayImport[parent]; ok {
			return append(slices.Clone(allowed), parent), true
		}
	}
	return nil, false
}

// partOf tells whether a package has no entry of its own and lies below another.
func partOf(path, whole string) bool {
	_, entered := mayImport[path]
	return !entered && below(path, whole)
}

// partOfProgram is false for contrib, examples, and what only tests import: a package
// whose name ends in "test".
func partOfProgram(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return top != "contrib" && top != "examples" && !slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool {
		return strings.HasSuffix(name, "test")
	})
}

func below(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

func TestTheTableHasNoCycle(t *testing.T) {
	for _, start := range slices.Sorted(maps.Keys(mayImport)) {
		seen := map[string]bool{}
		queue := slices.Clone(mayImport[start])
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			if next == start {
				t.Errorf("%s may import itself by way of others", start)
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, mayImport[next]...)
			}
		}
	}
}
