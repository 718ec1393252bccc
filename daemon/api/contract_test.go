package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/api/apitest"
	"github.com/assayd/assayd/reconcile/query"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := apitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// elsewhere is what is described and served by another handler than that of this package.
var elsewhere = []string{"POST /api/v1/git/webhook"}

func TestEveryRouteIsDescribedAndEveryDescriptionIsARoute(t *testing.T) {
	var described []string
	ids := map[string]bool{}
	for path, item := range document(t).Paths.Map() {
		for method, o := range item.Operations() {
			described = append(described, method+" "+path)
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || len(o.Tags) != 1 {
				t.Errorf("%s %s needs an operationId of its own, a summary, and a tag", method, path)
			}
			ids[o.OperationID] = true
			if o.Responses.Default() == nil || o.Responses.Default().Ref != "#/components/responses/Problem" {
				t.Errorf("%s %s does not say how errors are answered", method, path)
			}
		}
	}
	slices.Sort(described)
	if diff := cmp.Diff(slices.Sorted(slices.Values(append(api.Routes(), elsewhere...))), described); diff != "" {
		t.Errorf("-served +described\n%s", diff)
	}
}

// Each list has the same parameters, and an answer of the same form.
func TestListsAreAlike(t *testing.T) {
	lists := 0
	for path, item := range document(t).Paths.Map() {
		if item.Get == nil || item.Get.Responses.Status(200) == nil {
			continue
		}
		content := item.Get.Responses.Status(200).Value.Content["application/json"]
		paged := slices.ContainsFunc(item.Get.Parameters, isAfter)
		if content == nil || strings.HasSuffix(content.Schema.Ref, "Page") != paged && !strings.HasSuffix(content.Schema.Ref, "OutputPage") {
			if content != nil {
				t.Errorf("%s is answered by %s, and has pages: %v", path, content.Schema.Ref, paged)
			}
			continue
		}
		if !paged {
			continue
		}
		lists++
		members := slices.Sorted(maps.Keys(content.Schema.Value.Properties))
		if diff := cmp.Diff([]string{"as_of", "items", "next"}, members); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if lists < 7 {
		t.Errorf("there are only %d lists", lists)
	}
	limit := document(t).Components.Parameters["limit"].Value.Schema.Value
	if *limit.Max != api.MaxLimit || *limit.Min != 1 || limit.Default != float64(api.DefaultLimit) {
		t.Errorf("limit is described as %v to %v, %v", *limit.Min, *limit.Max, limit.Default)
	}
}

func TestTheKindsAreDescribed(t *testing.T) {
	var described []api.Kind
	for _, k := range document(t).Components.Schemas["Kind"].Value.Enum {
		described = append(described, api.Kind(fmt.Sprint(k)))
	}
	if diff := cmp.Diff(api.Kinds(), described); diff != "" {
		t.Errorf("-known +described\n%s", diff)
	}
}

func TestTheStatesOfTrialsAreDescribed(t *testing.T) {
	var described []string
	for _, state := range document(t).Components.Schemas["CellState"].Value.Enum {
		described = append(described, fmt.Sprint(state))
	}
	if diff := cmp.Diff(query.CellStates(), described); diff != "" {
		t.Errorf("-known +described\n%s", diff)
	}
}

// Members, whether they are required, and types are those of the Go types, all the way down.
func TestSchemasAreTheGoTypes(t *testing.T) {
	schemas := document(t).Components.Schemas
	c := &comparison{t: t, seen: map[string]bool{}}
	for name, value := range api.Answers {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
			continue
		}
		c.compare(name, openapi3.NewSchemaRef("#/components/schemas/"+name, schemas[name].Value), reflect.TypeOf(value))
	}
	for name := range schemas {
		if !c.seen[name] && !slices.Contains([]string{"Record", "Kind", "Next", "AsOf", "CellState"}, name) {
			t.Errorf("the schema %s is compared with no Go type", name)
		}
	}
}

// asked are the schemas of what is sent.
var asked = map[string]bool{"Files": true, "ImageWork": true, "Sweep": true}

type comparison struct {
	t    *testing.T
	seen map[string]bool // names of schemas
}

func (c *comparison) compare(at string, ref *openapi3.SchemaRef, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if len(ref.Value.OneOf) == 2 { // null is the other one
		ref = ref.Value.OneOf[0]
	}
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		if c.seen[name] && of.Kind() == reflect.Struct {
			return
		}
		c.seen[name] = true
	}
	s := ref.Value
	if want := typeOf(of); want != "" && (s.Type == nil || !s.Type.Includes(want)) {
		c.t.Errorf("%s is %v, and in Go a %s", at, s.Type, of)
		return
	}
	switch of.Kind() {
	case reflect.Slice, reflect.Array:
		if of.Elem().Kind() != reflect.Interface && of.Elem().Kind() != reflect.Uint8 {
			c.compare(at+"[]", s.Items, of.Elem())
		}
	case reflect.Map:
		c.compare(at+"{}", s.AdditionalProperties.Schema, of.Elem())
	case reflect.Struct:
		if of != reflect.TypeFor[time.Time]() {
			c.members(at, s, of)
		}
	}
}

// typeOf is the JSON type of a Go type; "" is any.
func typeOf(of reflect.Type) string {
	if of == reflect.TypeFor[time.Time]() {
		return "string"
	}
	if of == reflect.TypeFor[json.RawMessage]() {
		return ""
	}
	switch of.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return ""
}

func (c *comparison) members(at string, s *openapi3.Schema, of reflect.Type) {
	types, required := map[string]reflect.Type{}, []string{}
	fields(of, false, func(name string, always bool, of reflect.Type) {
		types[name] = of
		if always {
			required = append(required, name)
		}
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(types)), slices.Sorted(maps.Keys(s.Properties))); diff != "" {
		c.t.Errorf("%s: members of %s: -Go +described\n%s", at, of, diff)
	}
	if asked[at] { // a daemon may take a body in which members are missing
		required = s.Required
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(required)), slices.Sorted(slices.Values(s.Required)), cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("%s: required of %s: -Go +described\n%s", at, of, diff)
	}
	for name, member := range s.Properties {
		if types[name] != nil {
			c.compare(at+"."+name, member, types[name])
		}
	}
}

// fields calls f with each member of a struct's JSON; always says that it is never left out.
func fields(of reflect.Type, within bool, f func(name string, always bool, of reflect.Type)) {
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Pointer:
			fields(field.Type.Elem(), true, f)
		case field.Anonymous && name == "":
			fields(field.Type, within, f)
		case field.IsExported():
			if name == "" {
				name = field.Name
			}
			f(name, !within && !strings.Contains(options, "omit"), field.Type)
		}
	}
}
