package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page for users has each kind with its status, each list with its filters, and the limits.
func TestThePageForUsersIsTrue(t *testing.T) {
	text := page(t)
	var kinds []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d+) \\|").FindAllStringSubmatch(text, -1) {
		kinds = append(kinds, m[1]+" "+m[2])
	}
	expect(t, api.KindStatuses(), kinds)

	lists := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(GET /\\S+)` \\| [^|]+ \\|([^|]*)\\|$").FindAllStringSubmatch(text, -1) {
		lists[m[1]] = []string{}
		for _, f := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(m[2], -1) {
			lists[m[1]] = append(lists[m[1]], f[1])
		}
	}
	described := map[string][]string{}
	for path, item := range document(t).Paths.Map() {
		if item.Get == nil || !slices.ContainsFunc(item.Get.Parameters, isAfter) {
			continue
		}
		described["GET "+path] = []string{}
		for _, p := range item.Get.Parameters {
			if p.Ref == "" {
				described["GET "+path] = append(described["GET "+path], p.Value.Name)
			}
		}
	}
	if diff := cmp.Diff(described, lists); diff != "" {
		t.Errorf("-described +page\n%s", diff)
	}
	for _, row := range []string{
		fmt.Sprintf("| items of a page | %d |", api.MaxLimit), fmt.Sprintf("| a page of output | %d KiB |", trialview.OutputPageSize>>10),
		fmt.Sprintf("| a body of JSON | %d MiB |", api.MaxBody>>20), fmt.Sprintf("| a patch for `/v1/eval` | %d MiB |", api.MaxPatch>>20),
		fmt.Sprintf("| trials in `/v1/status` | %d |", query.MaxTrials), fmt.Sprintf("| topics of a stream of events | %d |", api.MaxTopics),
		fmt.Sprintf("| open streams of events | %d |", api.MaxStreams),
	} {
		if !strings.Contains(text, row) {
			t.Errorf("the page does not have %q", row)
		}
	}
	if !strings.Contains(text, fmt.Sprintf("%d if you do not say, %d at most", api.DefaultLimit, api.MaxLimit)) {
		t.Error("the page says something else of limit")
	}
}

// The example of an error on the page is one.
func TestTheErrorOfThePageIsOne(t *testing.T) {
	block := regexp.MustCompile("(?s)```json\n(\\{\n.*?\n\\})\n```").FindStringSubmatch(page(t))
	if block == nil {
		t.Fatal("the page has no example of an error")
	}
	var shown, sent map[string]any
	if err := json.Unmarshal([]byte(block[1]), &shown); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	api.Refuse(w, 404, api.NotFound, fmt.Sprint(shown["detail"]))
	if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, shown); diff != "" {
		t.Errorf("-sent +shown\n%s", diff)
	}
}

func isAfter(p *openapi3.ParameterRef) bool { return p.Ref == "#/components/parameters/after" }
